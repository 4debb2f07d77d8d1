#!/usr/bin/env bash
# Fairway's main job from beginning to end, on a small real backlog: import, launch, claim, work, prove, hand over, review,
# close, land what collides, and find a dead session. Everything happens in a temporary folder. Exits non-zero if a step does not hold.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source_root=$(cd "${here}/../.." && pwd)

if [[ -z "${FAIRWAY:-}" ]]; then
  # shellcheck source=tests/need.sh
  source "${source_root}/tests/need.sh"
  need cc gcc libc6-dev
  need git git
  install_missing
  # The build that the tests use too: not optimised, and there in a fraction of the time.
  printf '\n== Building fairway (the first time takes some minutes)\n'
  (cd "${source_root}" && cargo build --locked --quiet)
  target=${CARGO_TARGET_DIR:-${source_root}/target}
  FAIRWAY=${target}/debug/fairway
fi
began=${SECONDS}
# Nothing of a surrounding session, and no state outside the demo.
unset "${!FAIRWAY_@}"
demo=$(mktemp -d)
export HOME="${demo}/home" XDG_STATE_HOME="${demo}/state" GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=demo GIT_AUTHOR_EMAIL=demo@example.invalid GIT_COMMITTER_NAME=demo GIT_COMMITTER_EMAIL=demo@example.invalid
mkdir -p "${HOME}" "${demo}/shop"

finish() {
  # Whatever happened, nothing that was started stays.
  if [[ -d "${demo}/shop/.fairway" ]]; then
    for session in $(cd "${demo}/shop" && "${FAIRWAY}" session list --quiet 2>/dev/null); do
      (cd "${demo}/shop" && "${FAIRWAY}" session stop "${session}" >/dev/null 2>&1) || true
    done
    for run in $(cd "${demo}/shop" && "${FAIRWAY}" exec list --quiet 2>/dev/null); do
      (cd "${demo}/shop" && "${FAIRWAY}" exec kill "${run}" >/dev/null 2>&1) || true
    done
  fi
  rm -rf "${demo}"
}
trap finish EXIT

step() { printf '\n== %s\n' "$*"; }
fail() {
  printf 'quickstart: this does not hold: %s\n' "$*" >&2
  exit 1
}
# Shows a command as a person would type it, then runs it.
try() {
  printf '$ fairway %s\n' "$*"
  "${FAIRWAY}" "$@"
}
# The same for a command that must be refused with this exit code.
refused() {
  local want=$1 got=0
  shift
  printf '$ fairway %s\n' "$*"
  "${FAIRWAY}" "$@" || got=$?
  [[ "${got}" = "${want}" ]] || fail "'fairway $*' exits with ${got}, not ${want}"
}
# Waits until a command's output holds a text.
wait_for() {
  local text=$1 deadline=$((SECONDS + 15))
  shift
  until "${FAIRWAY}" "$@" 2>/dev/null | grep -q -- "${text}"; do
    [[ "${SECONDS}" -lt "${deadline}" ]] || fail "'fairway $*' never shows '${text}'"
    sleep 0.1
  done
}
holds() {
  local text=$1
  shift
  "${FAIRWAY}" "$@" | grep -q -- "${text}" || fail "'fairway $*' does not show '${text}'"
}

step "A repository with a bug, and a Fairway project in it"
cd "${demo}/shop"
git init -q -b main
cat >cart.awk <<'AWK'
# Reads "name price count" lines, prints the total.
{ price[NR] = $2; count[NR] = $3 }
END { for (i = 1; i <= NR; i++) sum += price[i]; print sum + 0 }
AWK
cat >check.sh <<'SH'
total=$(printf 'pen 2 3\nink 5 1\n' | awk -f cart.awk)
[ "${total}" = 11 ] || { echo "the total is ${total}, not 11"; exit 1; }
echo "the total is 11"
SH
try init
git add .fairway.toml cart.awk check.sh
git -c user.name=demo -c user.email=demo@example.invalid commit -q -m "a shop"

step "The backlog comes in, with its parents, dependencies and times"
try task import "${here}/backlog.jsonl"
try ready
printf '(shop-2 is not ready; why?)\n'
try ready --why
holds shop-1 ready

step "A lane: the durable place for a kind of work, with a branch and a worktree of its own"
try lane add cart --role backend --create-worktree --wip 2

step "What would a launch do? A dry run checks everything and writes nothing"
try session launch --role backend --lane cart --task-id shop-1 --dry-run -- sh "${here}/agent.sh"

step "Launch an agent for shop-1. Launching never claims: the agent does"
try session launch --role backend --lane cart --task-id shop-1 --name cart-agent -- sh "${here}/agent.sh"
wait_for '"status":"ended"' session show cart-agent --json
printf '(what the agent printed, from its transcript)\n'
try session peek cart-agent
holds '"result":"pass"' evidence list shop-1 --json
printf '(what it wrote last is what the next one is told, whatever the launch noted meanwhile)\n'
holds "fixed, the check passes" prime --task-id shop-1
holds "fixed, the check passes" explain task shop-1

step "The agent has handed its work over: somebody who never held the task reviews it"
lane=$("${FAIRWAY}" lane show cart --json | sed 's/.*"worktree":"\([^"]*\)".*/\1/')
commit=$(git -C "${lane}" rev-parse HEAD)
try handoff list --open
try session upsert --id rosa --role reviewer
try --session rosa review record shop-1 --domain code --verdict approve --commit "${commit}" --notes "small and right"

step "The coordinator takes the task over, checks it and closes it"
try --as reviewer handoff accept 1
printf '(evidence from before this claim does not count: done refuses, and says what to do)\n'
refused 5 "done" shop-1
(cd "${lane}" && try evidence run shop-1 -- sh check.sh)
try "done" shop-1 --commit "${commit}"
printf '(and shop-2, which waited for it, is ready now)\n'
try ready
holds shop-2 ready

step "Meanwhile another lane has changed the same line. The first one lands, the second one is told and sent back"
try lane add rounding --create-worktree
try task add shop-10 "Cart: round the total" --lane rounding
rounding=$("${FAIRWAY}" lane show rounding --json | sed 's/.*"worktree":"\([^"]*\)".*/\1/')
# Commits a line of the cart in the lane, proves it and submits it.
work() {
  (
    cd "${rounding}"
    sed -i "s/^END.*/$1/" cart.awk
    git commit -q -am "cart: round the total"
    try evidence run shop-10 -- awk -f cart.awk check.sh
    rounded=$(git rev-parse HEAD)
    try task submit shop-10 --commit "${rounded}"
  )
}
try claim shop-10
work 'END { for (i = 1; i <= NR; i++) sum += price[i]; printf "%d\\n", sum }'
try land shop-1
refused 5 land shop-10
holds '"status":"in_progress"' task show shop-10 --json
printf '(its agent takes the base as it is now, does the work again and submits it)\n'
git -C "${rounding}" reset -q --hard main
work 'END { for (i = 1; i <= NR; i++) sum += price[i] * count[i]; printf "%d\\n", sum }'
try land --queue
holds '"status":"done"' task show shop-10 --json
sh check.sh

step "Another agent claims shop-4, and is killed"
try session launch --role backend --task-id shop-4 --name calendar-agent -- sh "${here}/idle.sh"
wait_for '"status":"in_progress"' task show shop-4 --json
pid=$("${FAIRWAY}" session show calendar-agent --json | sed 's/.*"pid":\([0-9]*\).*/\1/')
# The supervisor and its program: the program alone would work on.
program=$(ps -o pid= --ppid "${pid}")
killed=("${pid}" "${program//[[:space:]]/}")
printf '$ kill -9 %s\n' "${killed[*]}"
kill -9 "${killed[@]}"
# A killed process takes a moment to be gone, or a corpse that waits for its parent.
for pid in "${killed[@]}"; do
  while [[ -e "/proc/${pid}" ]] && ! grep -q ') Z ' "/proc/${pid}/stat" 2>/dev/null; do sleep 0.05; done
done
printf '(cron runs this; it marks what died, and never takes a task away)\n'
try session reconcile
holds '"status":"stale"' session show calendar-agent --json
holds '"status":"in_progress"' task show shop-4 --json
try release shop-4 --force --reason "its session died"
try session stop calendar-agent

step "What takes long runs in the background; what a watcher sees in it comes with the next checkpoint"
try session upsert --id night-agent --role backend
try --session night-agent claim shop-4
words=(--session night-agent exec spawn --watch FAILED=broken -- sh -c 'echo testing; echo "FAILED: saturday is a working day"; exit 1')
printf '$ fairway %s\n' "${words[*]}"
run=$("${FAIRWAY}" --quiet "${words[@]}")
refused 7 exec wait "${run}"
try exec log "${run}"
said=$(try --session night-agent checkpoint record shop-4 --state active --summary "a test fails")
printf '%s\n' "${said}"
grep -q 'FAILED: saturday' <<<"${said}" || fail "the checkpoint brings no message of the background run"

step "What an agent may do is said by rules; an agent's command line asks before each tool call, through its hook"
cat >>.fairway.toml <<'TOML'

[guard]
[[guard.rules]]
name = "no-force-push"
tools = ["Bash"]
command = ["git", "push"]
flags = ["--force", "-f", "--force-with-lease"]
action = "deny"
reason = "force push is for people"
TOML
try trust
export FAIRWAY_SESSION_ID=night-agent
# A hook is called as the agent's command line would call it: its JSON on stdin.
hook() {
  printf '$ fairway hook claude %s\n' "$1"
  "${FAIRWAY}" hook claude "$1" <<<"{\"session_id\":\"s\",\"cwd\":\"${PWD}\",\"hook_event_name\":\"$1\",$2}"
  printf '\n'
}
said=$(hook PreToolUse '"tool_name":"Bash","tool_use_id":"1","tool_input":{"command":"sh -c '"'git push -fu origin main'"'"}')
printf '%s\n' "${said}"
grep -q '"permissionDecision":"deny".*no-force-push' <<<"${said}" || fail "the hook does not deny a force push"

step "A prompt has a receipt: the agent's next turn brings it, and then it is acknowledged"
unset FAIRWAY_SESSION_ID
try prompt night-agent "saturdays are no working days; fix the calendar" --source mail
export FAIRWAY_SESSION_ID=night-agent
said=$(hook UserPromptSubmit '"prompt":"go on"')
printf '%s\n' "${said}"
grep -q 'saturdays are no working days' <<<"${said}" || fail "the turn does not bring the prompt"
unset FAIRWAY_SESSION_ID
try outbox --all
holds '"status":"acknowledged"' outbox --all --json

step "At the end of the day"
try status
try lane list
try task list --status todo --status in_progress --status "done"
try events --since 6
holds '"status":"done"' task show shop-1 --json

elapsed=$((SECONDS - began))
[[ "${elapsed}" -lt 20 ]] || fail "it took ${elapsed} seconds after the build; 20 are allowed"
printf '\nEvery step held, in %s seconds after the build.\n' "${elapsed}"
