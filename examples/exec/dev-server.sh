#!/usr/bin/env bash
# A dev server in the background steers the agent that started it: it runs on a terminal of its own, two watchers look at what it
# prints, and what they see comes to the agent with its next checkpoint. Runs in a temporary folder, with the fairway in PATH or
# in FAIRWAY. Exits non-zero if a step does not hold.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
FAIRWAY=${FAIRWAY:-fairway}
unset FAIRWAY_SESSION_ID FAIRWAY_RUN_ID FAIRWAY_ROLE FAIRWAY_LANE FAIRWAY_TASK_ID FAIRWAY_ROOT
demo=$(mktemp -d)
run=
finish() {
  if [[ -n "${run}" ]]; then
    "${FAIRWAY}" exec kill "${run}" --quiet >/dev/null 2>&1 || true
  fi
  rm -rf "${demo}"
}
trap finish EXIT
cd "${demo}"
try() {
  printf '$ fairway %s\n' "$*"
  "${FAIRWAY}" "$@"
}
holds() {
  local text=$1 said
  shift
  said=$(try "$@")
  printf '%s\n' "${said}"
  grep -q -- "${text}" <<<"${said}" || {
    printf 'this does not hold: no %s\n' "${text}" >&2
    exit 1
  }
}

"${FAIRWAY}" init --quiet >/dev/null
try task add T-1 "the page"
try session upsert --id web-agent --role frontend
export FAIRWAY_SESSION_ID=web-agent
try claim T-1
echo '<html>hello</html>' >page.html

printf '\n== The server: a terminal, a queue of its own for it never ends, and two watchers\n'
run=$("${FAIRWAY}" exec spawn --quiet --pty --queue "" --watch '^ready=up' --watch '^error=broken' -- sh "${here}/server.sh" page.html)
holds 'ready: http' exec poll "${run}" --until event --wait 10s

printf '\n== The agent breaks the page, and has the server look again\n'
seen=$("${FAIRWAY}" exec poll "${run}" --json | sed 's/.*"next_seq":\([0-9]*\).*/\1/')
echo '<html>hello, world' >page.html
try exec send-keys "${run}" r Enter
try exec poll "${run}" --since-seq "${seen}" --until event --wait 10s

printf '\n== What the watchers saw comes with the next checkpoint, marked as a program'"'"'s words\n'
holds 'error: page.html is not closed' checkpoint record T-1 --state active --summary "the page has a greeting"

printf '\n== It is put right, and the server is ended with all that it started\n'
echo '<html>hello, world</html>' >page.html
try exec send-keys "${run}" r Enter
try exec kill "${run}"
try exec log "${run}"
