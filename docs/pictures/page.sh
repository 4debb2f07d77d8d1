#!/usr/bin/env bash
# Makes page.png, the README's picture of the board in the browser: docs/pictures/page.sh [FAIRWAY]. Needs git and chromium.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
fairway=${1:-fairway}
scratch=$(mktemp -d)
server=
trap '[[ -z "${server}" ]] || kill "${server}"; wait; rm -rf "${scratch}"' EXIT
export HOME="${scratch}/home" XDG_STATE_HOME="${scratch}/state"
mkdir -p "${HOME}" "${scratch}/shop"
cd "${scratch}/shop"

run() { "${fairway}" --quiet "$@" >/dev/null; }
git init --quiet --initial-branch main .
run init
printf '[guard]\ndefault = "allow"\n' >>.fairway.toml
run trust --yes
for lane in cart api docs ship; do run lane add "${lane}" --role backend; done
run task add "Cart: the total ignores the quantity" --lane cart
run task add "Refunds in two currencies" --lane api
run task add "Ship: labels for returns" --lane ship
run task add "Describe the cart" --lane docs

agent() {
  run session upsert --id "$1" --role backend --lane "$2" --provider claude
  run --session "$1" claim "$3"
  # A hook that has called shows that the guard is on.
  printf '{"session_id":"%s","cwd":"%s","hook_event_name":"UserPromptSubmit","prompt":"go on"}' "$1" "${PWD}" |
    FAIRWAY_SESSION_ID=$1 "${fairway}" hook claude UserPromptSubmit >/dev/null
}
agent cart-agent cart T-1
agent api-agent api T-2
agent ship-agent ship T-3
run --session cart-agent checkpoint record T-1 --state active --summary "running the tests"
run session heartbeat api-agent --activity requires_action --waiting-for "which currency for refunds?"
run session end ship-agent --status failed --reason "process 4711 is gone"
printf '{"session_id":"cart-agent","cwd":"%s","hook_event_name":"PermissionRequest","tool_name":"Bash",%s}' "${PWD}" \
  '"tool_use_id":"t1","tool_input":{"command":"git push origin lane/cart"}' |
  FAIRWAY_SESSION_ID=cart-agent "${fairway}" hook claude PermissionRequest >/dev/null &

env -u BROWSER -u DISPLAY -u WAYLAND_DISPLAY "${fairway}" serve --open --for 60s >../serve &
server=$!
until grep -q 'open the board' ../serve && "${fairway}" approvals list --json | grep -q push; do sleep 0.1; done
url=$(sed -n 's/^open the board, once and within two minutes: //p' ../serve)
chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
  --disable-component-update --disable-sync --user-data-dir="${scratch}/chromium" --hide-scrollbars \
  --window-size=1200,720 --screenshot="${here}/page.png" "${url}" 2>/dev/null
"${fairway}" approvals answer 1 deny >/dev/null
printf '%s\n' "${here}/page.png"
