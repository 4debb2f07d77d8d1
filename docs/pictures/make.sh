#!/bin/sh
# Makes the pictures of `fairway top` in this directory, or in DIR, from a small project with scripted agents.
# Usage: make.sh [DIR]; FAIRWAY is the program, else the one in PATH.
#
# The source is not `fairway demo`: its agents run in real time, so that ages, and the events that a frame meets, differ from run
# to run, and it shows neither a permission request nor a question. Here the clock is set, each run gives the same bytes, and a
# test compares them with the pictures that are kept.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
out=$(mkdir -p "${1:-${here}}" && cd "${1:-${here}}" && pwd)
fairway=${FAIRWAY:-fairway}
work=$(mktemp -d)
end() {
  (cd "${work}/shop" && "${fairway}" session stop --all --quiet) >/dev/null 2>&1 || true
  rm -rf "${work}"
}
trap end EXIT

mkdir -p "${work}/home" "${work}/shop"
export HOME="${work}/home" XDG_STATE_HOME="${work}/home/state" XDG_RUNTIME_DIR="${work}/home" GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=demo GIT_AUTHOR_EMAIL=demo@example.invalid GIT_COMMITTER_NAME=demo GIT_COMMITTER_EMAIL=demo@example.invalid
export TZ=UTC
unset FAIRWAY_SESSION_ID FAIRWAY_RUN_ID FAIRWAY_ROLE FAIRWAY_LANE FAIRWAY_TASK_ID FAIRWAY_ROOT FAIRWAY_DB NO_COLOR
cd "${work}/shop"
git init --quiet --template= --initial-branch=main
git commit --quiet --allow-empty --message shop

at() {
  FAIRWAY_TEST_TIME="2026-01-07T10:$1Z"
  export FAIRWAY_TEST_TIME
}
fw() {
  "${fairway}" "$@" >"${work}/said" 2>&1 || {
    cat "${work}/said" >&2
    exit 1
  }
}
# Numbers of processes differ from run to run; the columns behind them stay where they are.
frame() {
  COLUMNS=$1 LINES=$2 "${fairway}" --color always top --once | awk '
    match($0, /process [0-9]+ (has ended|is gone)/) {
      rest = substr($0, RSTART + RLENGTH)
      missing = sprintf("%" (RLENGTH - length("process 4711 is gone")) "s", "")
      sub(/   /, "   " missing, rest)
      $0 = substr($0, 1, RSTART - 1) "process 4711 is gone" rest
    }
    { print }'
}
svg() { awk -v columns="$1" -v rows="$2" -v seconds=2 -f "${here}/svg.awk"; }

at 00:00
fw init
fw lane add cart --role dev
fw lane add tax --role dev
fw lane add docs --role dev
for title in "Cart: the total ignores the quantity" "Cart: discount codes" "Tax of gift cards" "Describe the cart"; do
  fw task add "${title}"
done

# A launch, step by step.
{
  frame 100 16
  printf '\f\n'
  at 00:02
  fw session launch --role dev --lane cart --task T-1 --name ada --backend shell -- sleep 600
  fw --session ada --as dev claim T-1
  frame 100 16
  printf '\f\n'
  at 00:20
  fw session heartbeat ada --activity busy
  fw --session ada checkpoint record T-1 --state active --summary "the test fails as described"
  frame 100 16
  printf '\f\n'
  at 01:10
  fw session heartbeat ada --activity requires_action --waiting-for "is an empty cart an error?"
  frame 100 16
  printf '\f\n'
  at 01:30
  fw session heartbeat ada --activity busy
  fw --session ada checkpoint record T-1 --state active --summary "the total is 11; running the tests"
  frame 100 16
} >"${work}/launch"
svg 100 16 <"${work}/launch" >"${out}/launch.svg"

# A working day.
at 04:00
fw session launch --role dev --lane tax --task T-3 --name bob --backend shell -- sleep 600
fw --session bob --as dev claim T-3
fw --session bob checkpoint record T-3 --state active --summary "codes are read, expiry dates are not checked yet"
at 05:00
fw session upsert --id cleo --role dev --lane docs
fw --session cleo --as dev claim T-4
fw --session cleo task submit T-4
at 06:00
fw session heartbeat ada --activity requires_action --waiting-for "which currency for refunds?"
"${fairway}" session show bob --json >"${work}/bob"
pid=$(sed 's/.*"pid":\([0-9]*\).*/\1/' "${work}/bob")
kill -9 "${pid}"
run=$("${fairway}" session show bob --json | sed 's/.*"run_id":"\([^"]*\)".*/\1/')
grep -lsz "FAIRWAY_RUN_ID=${run}" /proc/[0-9]*/environ | cut -d/ -f3 | while read -r pid; do
  kill -9 "${pid}" 2>/dev/null || true
done
at 08:00
frame 110 20 >"${work}/top"
svg 110 20 <"${work}/top" >"${out}/top.svg"
