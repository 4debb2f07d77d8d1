#!/bin/sh
# An agent that claims its task and then waits for ever: the one that dies in the quickstart.
set -eu
: "${FAIRWAY_BIN:?launch me with fairway session launch}" "${FAIRWAY_TASK_ID:?launch me with --task-id}"
"${FAIRWAY_BIN}" claim
"${FAIRWAY_BIN}" checkpoint record "${FAIRWAY_TASK_ID}" --state active --summary "reading the calendar code"
exec sleep 600
