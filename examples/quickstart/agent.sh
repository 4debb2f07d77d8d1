#!/bin/sh
# A scripted agent: what a coding agent does in its session, without a model. It runs in its lane's worktree; Fairway has
# put the session's id, role, lane and task into the environment.
set -eu
: "${FAIRWAY_SESSION_ID:=}" "${FAIRWAY_LANE:=}"
fairway=${FAIRWAY_BIN:?launch me with fairway session launch}
task=${FAIRWAY_TASK_ID:?launch me with --task-id}

echo "agent: I am session ${FAIRWAY_SESSION_ID} in lane ${FAIRWAY_LANE}"
"${fairway}" claim
"${fairway}" checkpoint record "${task}" --state active --summary "found it: the quantity is never used"

sed 's/sum += price\[i\]/sum += price[i] * count[i]/' cart.awk >cart.new
mv cart.new cart.awk
git add cart.awk
git -c user.name=agent -c user.email=agent@example.invalid commit -q -m "cart: multiply by the quantity"

"${fairway}" evidence run "${task}" --summary "three pens cost three pens" -- sh check.sh
"${fairway}" checkpoint record "${task}" --state review --summary "fixed, the check passes"
commit=$(git rev-parse HEAD)
"${fairway}" handoff create "${task}" --to reviewer --summary "please look at cart.awk" --payload "${commit}"
echo "agent: done"
