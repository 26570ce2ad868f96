#!/usr/bin/env python3
"""A policy hook for `service:`. One process for the whole session: it may keep state between events."""
import json
import sys

refused = 0
for line in sys.stdin:
    call = json.loads(line)
    event, answer = call["event"], {"id": call["id"], "verdict": "none"}
    if event["name"] == "git" and "push" in event["argv"] and "--force" in event["argv"]:
        refused += 1
        answer.update(verdict="deny", reason=f"force-pushing rewrites shared history (refused {refused} times)")
    print(json.dumps(answer), flush=True)
