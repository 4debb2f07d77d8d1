#!/bin/sh
# The agent that dies in the middle of its work. It ends with the demo, too.
set -eu
fairway claim
fairway checkpoint record T-2 --state active --summary "codes are read, expiry dates are not checked yet"
while kill -0 "$DEMO_PID" 2>/dev/null; do
  sleep 1
done
