"""schemas.py VERSION < OBJECTS.json: what the official schemas of that version of Kubernetes say against each object, as a
list of sentences. A field that no schema knows is a fault as well."""
import json
import sys

import kubernetes_validate

found = []
for one in json.load(sys.stdin):
    name = f"{one['kind']} {one['metadata']['name']}"
    try:
        kubernetes_validate.validate(one, sys.argv[1], strict=True)
    except kubernetes_validate.ValidationError as fault:
        found.append(f"{name}: {'.'.join(str(part) for part in fault.absolute_path)}: {fault.message}")
    except kubernetes_validate.SchemaNotFoundError as fault:
        found.append(f"{name}: {fault.message}")
json.dump(found, sys.stdout)
