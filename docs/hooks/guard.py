#!/usr/bin/python3 -I
"""Refuses force-pushes. Protocol: native.

An exception ends this with status 1 and nothing on stdout, which is a fault and refuses too.
"""

import json
import sys

event = json.loads(sys.stdin.buffer.read())
argv = event["argv"]

if event["name"] == "git" and "push" in argv and {"-f", "--force"} & set(argv):
    answer = {"verdict": "deny", "reason": "force-pushing rewrites shared history"}
else:
    answer = {"verdict": "none"}

print(json.dumps(answer))
