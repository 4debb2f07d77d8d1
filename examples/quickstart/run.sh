#!/usr/bin/env bash
# The day of docs/getting-started.md, on a small real backlog: set up, import, start two agents, answer them, review, send back,
# land, mend a conflict; then an agent that dies, and a background job. Everything happens in a temporary directory. Exits non-zero if a step
# does not hold.
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
export FAIRWAY_SESSIONS_DEFAULT_BACKEND=shell
mkdir -p "${HOME}" "${demo}/shop" "${demo}/bin"
# The agents call fairway by its name.
program=$(realpath "${FAIRWAY}")
ln -s "${program}" "${demo}/bin/fairway"
export PATH="${demo}/bin:${PATH}"

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
# Waits until a command's output has a text.
wait_for() {
  local text=$1 deadline=$((SECONDS + 30))
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

step "A repository with a bug. setup connects it and the agents: hooks, two rules, and lines that tell agents how to work"
cd "${demo}/shop"
git init -q -b main
"${here}/shop.sh" "${demo}/bin"
try setup --yes
git add .
git commit -q -m "work with Fairway"

step "The backlog comes in, with its parents, dependencies and times"
try task import "${here}/backlog.jsonl"
try ready
printf '(shop-2 is not ready; why?)\n'
try ready --why
holds shop-1 ready
printf '(a check is a command that the work must pass)\n'
try task edit shop-1 --check "total=sh check.sh"

step "Two agents start, each on a branch and in a directory of its own. Here they are scripts that play claude and codex"
try start shop-1 --provider claude
wait_for "git commit" approvals list
try start shop-6 --provider codex
wait_for "question:shop-6-codex" status --json

step "What waits for you is one list, with the commands that settle it"
try status
try approvals answer 1 allow
question=$("${FAIRWAY}" status --json | sed 's/.*"\(question:shop-6-codex:[^"]*\)".*/\1/')
try answer "${question}" EUR
wait_for '"status":"review"' task show shop-1 --json
wait_for '"status":"review"' task show shop-6 --json

step "A rule has denied Claude's forced push; no person was asked"
try guard log --denied
holds no-force-push guard log --denied

step "Claude has submitted its work. You look at it, and send it back"
try review
holds '"result":"pass"' evidence list shop-1 --json
try changes shop-1 "an empty cart must have the total 0"
wait_for '"status":"review"' task show shop-1 --json
printf '(it has worked again: the card shows only what is new)\n'
try review next --task shop-1
holds "which you have seen" review next --task shop-1

step "What you approve lands: merged, checked on the merged files, and finished. The agent whose lines now conflict is told"
try approve shop-1 "small and right"
try land shop-1
holds '"status":"done"' task show shop-1 --json
printf '(shop-2, which waited for it, is ready now)\n'
holds shop-2 ready

step "Codex has brought main into its branch and submitted again"
until git merge-base --is-ancestor main lane/shop-6; do sleep 0.1; done
wait_for '"activity":"idle"' session show shop-6-codex --json
try review next --task shop-6
try approve shop-6
try land shop-6
sh check.sh
holds '"status":"done"' task show shop-6 --json

step "Another agent is killed in the middle of its work. Nothing is lost: it goes on with one command"
try start shop-4 --provider claude --quiet
wait_for "git commit" approvals list
run=$("${FAIRWAY}" session show shop-4-claude --json | sed 's/.*"run_id":"\([^"]*\)".*/\1/')
printf '$ kill -9 (its processes)\n'
for _ in {1..100}; do
  left=$(grep -lsz "FAIRWAY_RUN_ID=${run}" /proc/[0-9]*/environ | cut -d/ -f3) || true
  [[ -n "${left}" ]] || break
  xargs kill -9 <<<"${left}" 2>/dev/null || true
  sleep 0.05
done
try status
holds '"kind":"dead"' status --json
try relaunch shop-4-claude
try stop --all

step "What takes long runs in the background; a line that a watcher finds comes as a message"
words=(exec spawn --watch FAILED=broken -- sh -c 'echo testing; echo "FAILED: saturday is a working day"; exit 1')
printf '$ fairway %s\n' "${words[*]}"
job=$("${FAIRWAY}" --quiet "${words[@]}")
refused 7 exec wait "${job}"
said=$(try inbox)
printf '%s\n' "${said}"
grep -q 'FAILED: saturday' <<<"${said}" || fail "the inbox has no message of the job"

step "At the end of the day"
try status
try task list --all
try explain shop-1

elapsed=$((SECONDS - began))
[[ "${elapsed}" -lt 60 ]] || fail "it took ${elapsed} seconds after the build; 60 are allowed"
printf '\nEvery step held, in %s seconds after the build.\n' "${elapsed}"
