#!/bin/sh
# Refuses force-pushes. Protocol: exit-code. Needs jq, which reads the event itself: `echo "$event" | jq`
# would let some shells rewrite backslashes on the way.
refuse() {
    printf '%s\n' "$1" >&2
    exit 2
}

verdict=$(jq -r '
    if .name == "git" and (.argv | index("push")) and (.argv | any(. == "-f" or . == "--force"))
    then "refuse" else "pass" end') || refuse "guard.sh could not read the event"

case $verdict in
pass) exit 0 ;;
refuse) refuse "force-pushing rewrites shared history" ;;
*) refuse "guard.sh could not judge the event" ;;
esac
