"""Refuses force-pushes. A policy hook as a component, in Python.

    pip install componentize-py==0.25.1
    componentize-py -d supervisor/wit -w hook componentize --stub-wasi -p examples/wasm guard -o guard.wasm

`--stub-wasi` leaves out what a hook is not given: files, variables, the network. An exception that is not caught ends
the call, and a policy that cannot answer refuses; one that is raised as `Err` can also say why.
"""

import json

from componentize_py_types import Err
from wit_world import exports

SHARED = {"main", "master"}


class Handler(exports.Handler):
    def handle(self, event: str) -> str:
        call = json.loads(event)
        if call["event"] != "on-shell":
            raise Err(f"this hook is about commands, not about {call['event']}")
        argv = call["argv"]
        if call["name"] != "git" or "push" not in argv:
            return json.dumps({"verdict": "none"})
        if {"-f", "--force"} & set(argv):
            return json.dumps({"verdict": "deny", "reason": "force-pushing rewrites shared history"})
        if SHARED & set(argv):
            return json.dumps({"verdict": "ask", "reason": "push to a branch that others work on?"})
        return json.dumps({"verdict": "none"})
