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
  for project in shop film/shop; do
    (cd "${work}/${project}" && "${fairway}" session stop --all --quiet) >/dev/null 2>&1 || true
  done
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
svg() { awk -v columns="$1" -v rows="$2" -v seconds="${3:-0}" -f "${here}/svg.awk"; }

at 00:00
fw init
fw lane add cart --role dev
fw lane add tax --role dev
fw lane add docs --role dev
for title in "Cart: the total ignores the quantity" "Cart: discount codes" "Tax of gift cards" "Describe the cart"; do
  fw task add "${title}"
done

# A working day.
at 00:02
fw session launch --role dev --lane cart --task T-1 --name ada --backend shell -- sleep 600
fw --session ada --as dev claim T-1
fw --session ada checkpoint record T-1 --state active --summary "the total is 11; running the tests"
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
for _ in $(seq 100); do
  left=$(grep -lsz "FAIRWAY_RUN_ID=${run}" /proc/[0-9]*/environ | cut -d/ -f3)
  [ -n "${left}" ] || break
  for pid in ${left}; do kill -9 "${pid}" 2>/dev/null || true; done
  sleep 0.05
done
at 08:00
frame 110 20 >"${work}/top"
svg 110 20 <"${work}/top" >"${out}/top.svg"

# A day of ten agents, as a film: what a person types stands above the board that follows.
mkdir -p "${work}/film/shop"
cd "${work}/film/shop"
git init --quiet --template= --initial-branch=main
git commit --quiet --allow-empty --message shop
at 00:00
fw init
printf '[gates.done]\nrequire = []\n[gates.merge]\nrequire = ["reviews"]\n' >>.fairway.toml
git add . && git commit --quiet --message fairway
fw trust --yes
# Those that a person talks to have a terminal.
agent() {
  fw lane add "$2" --create-worktree
  fw task add "$3" --lane "$2"
  case $4 in ada | bob) fw session launch --role dev --lane "$2" --task "$1" --id "$4" --backend shell -- sleep 600 ;; *) ;; esac
  fw session upsert --id "$4" --role dev --lane "$2" --provider "$6"
  fw --session "$4" --as dev claim "$1"
  fw --session "$4" --as dev checkpoint record "$1" --state active --summary "$5"
  fw session heartbeat "$4" --activity busy
}
scene() {
  [ "${scenes:=0}" = 0 ] || printf '\f\n'
  scenes=$((scenes + 1))
  printf '\033[0;1m$ %s\033[0m\n\n' "$1"
  frame 110 19
}
agent T-1 cart "Cart: the total ignores the quantity" ada "found it: the quantity is never used" claude
agent T-2 tax "Tax of gift cards" bob "two rates, one table" codex
agent T-3 mail "Mail: a receipt in two languages" cleo "the template is split" claude
agent T-4 stock "Stock: never below zero" dan "writing the test first" gemini
agent T-5 search "Search: words with accents" eve "the index keeps both forms" codex
agent T-6 login "Login by mail" finn "links end after an hour" claude
agent T-7 export "Export of orders" gil "columns as in the old one" opencode
agent T-8 pages "Pages load in a second" hana "pictures are the largest part" codex
agent T-9 docs "Describe the discount codes" ivo "half of the page is written" claude
agent T-10 tests "Tests run in a minute" jo "the slowest ten are known" gemini
{
  at 10:00
  scene "fairway top"
  at 11:00
  fw session heartbeat ada --activity requires_action --waiting-for "which currency for refunds?"
  at 12:00
  scene "fairway top"
  at 12:10
  fw answer question:ada:1 "EUR"
  scene 'fairway answer question:ada:1 "EUR"'
  at 14:00
  echo "1 rate" >".fairway/worktrees/tax/tax.txt"
  git -C ".fairway/worktrees/tax" add .
  git -C ".fairway/worktrees/tax" commit --quiet --message "tax of gift cards"
  fw --session bob --as dev task submit T-2
  fw session heartbeat bob --activity idle
  at 14:30
  scene "fairway top"
  fw changes T-2 "gift cards have two rates" --reviewer ann
  at 14:40
  fw session heartbeat bob --activity busy
  scene 'fairway changes T-2 "gift cards have two rates"'
  at 18:00
  echo "2 rates" >".fairway/worktrees/tax/tax.txt"
  git -C ".fairway/worktrees/tax" commit --quiet --all --message "two rates"
  fw --session bob --as dev task submit T-2
  fw session heartbeat bob --activity idle
  at 18:20
  scene "fairway top"
  fw approve T-2 --reviewer ann
  scene "fairway approve T-2"
  fw land T-2
  at 18:30
  scene "fairway land T-2"
} >"${work}/frames"
svg 110 21 2.5 <"${work}/frames" >"${out}/day.svg"
