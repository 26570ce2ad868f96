"""ocsf.py < EVENTS.jsonl: what the framework's own schema says against each event, as a list of sentences. An attribute that
the schema does not have for the event's class and profiles is a fault as well."""
import json
import sys

from jsonschema import Draft202012Validator
from ocsf_json_schema import OcsfJsonSchemaEmbedded, get_ocsf_schema

schemas = {}


def validator(event):
    version, profiles = event["metadata"]["version"], event["metadata"]["profiles"]
    key = (version, event["class_uid"], tuple(profiles))
    if key not in schemas:
        schema = OcsfJsonSchemaEmbedded(get_ocsf_schema(version=version))
        name = schema.lookup_class_name_from_uid(event["class_uid"])
        schemas[key] = Draft202012Validator(schema.get_class_schema(class_name=name, profiles=profiles))
    return schemas[key]


found = []
for line in sys.stdin:
    event = json.loads(line)
    for fault in validator(event).iter_errors(event):
        place = ".".join(str(part) for part in fault.absolute_path)
        found.append(f"{event.get('message')}: {place}: {fault.message}")
json.dump(found, sys.stdout)
