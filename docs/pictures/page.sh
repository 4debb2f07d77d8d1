#!/usr/bin/env bash
# Makes the README's pictures of the page: page.png (ten agents at work, and one that needs you), review.png (a review card) and
# tasks.png. Usage: page.sh [DIR]; FAIRWAY is the program, else the one in PATH. Needs git, jq, chromium and chromedriver.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$(mkdir -p "${1:-${here}}" && cd "${1:-${here}}" && pwd)
fairway=${FAIRWAY:-fairway}
scratch=$(mktemp -d)
started=()
end() {
  [[ -z "${browser:-}" ]] || curl --silent --request DELETE "${browser}" >/dev/null || true
  (cd "${scratch}/shop" && "${fairway}" --quiet session stop --all) >/dev/null 2>&1 || true
  [[ "${#started[@]}" -eq 0 ]] || kill "${started[@]}" 2>/dev/null || true
  wait
  rm -rf "${scratch}"
}
trap end EXIT
export HOME="${scratch}/home" XDG_STATE_HOME="${scratch}/state" XDG_RUNTIME_DIR="${scratch}/home" GIT_CONFIG_GLOBAL=/dev/null
export GIT_AUTHOR_NAME=ann GIT_AUTHOR_EMAIL=ann@example.invalid GIT_COMMITTER_NAME=ann GIT_COMMITTER_EMAIL=ann@example.invalid
unset FAIRWAY_SESSION_ID FAIRWAY_RUN_ID FAIRWAY_ROLE FAIRWAY_LANE FAIRWAY_TASK_ID FAIRWAY_ROOT FAIRWAY_DB
mkdir -p "${HOME}" "${scratch}/shop/src"
cd "${scratch}/shop"

fw() { "${fairway}" --quiet "$@" >"${scratch}/said" 2>&1 || { cat "${scratch}/said" >&2 && exit 1; }; }
hook() { FAIRWAY_SESSION_ID=$2 "${fairway}" hook "$1" "$3" >/dev/null; }
event() {
  jq --null-input --arg id "$1" --arg cwd "$3" --arg event "$2" --argjson more "${4:-"{}"}" \
    '{ session_id: $id, cwd: $cwd, hook_event_name: $event } + $more'
}

cat >src/cart.rs <<'RUST'
pub fn total(lines: &[Line]) -> Cents {
    lines.iter().map(|line| line.price).sum()
}
RUST
git init --quiet --initial-branch main .
git add . && git commit --quiet --message "the shop"
fw init
printf '[guard]\ndefault = "allow"\n' >>.fairway.toml
fw trust --yes
git add . && git commit --quiet --message "fairway"

# An agent in a lane of its own: what it is doing, and how many lines it has written.
agent() {
  local lane=$1 provider=$2 title=$3 doing=$4 written=$5 tree
  tree=${PWD}/.fairway/worktrees/${lane}
  fw lane add "${lane}" --role backend --create-worktree
  fw task add "${title}" --lane "${lane}"
  fw session launch --role backend --lane "${lane}" --name "${lane}-1" --provider "${provider}" --backend shell --no-profile -- sleep 600
  case ${provider} in
    claude | codex) event "${lane}-1" UserPromptSubmit "${tree}" | hook "${provider}" "${lane}-1" UserPromptSubmit ;;
    gemini) event "${lane}-1" BeforeAgent "${tree}" | hook gemini "${lane}-1" BeforeAgent ;;
    *) fw session heartbeat "${lane}-1" --activity busy ;;
  esac
  fw --session "${lane}-1" --as backend claim --own-lane
  fw --session "${lane}-1" note "${doing}"
  seq "${written}" | sed 's/^/line /' >"${tree}/src/${lane}.txt"
}
agent cart claude "Cart: the total ignores the quantity" "running the tests" 24
agent tax codex "Tax of gift cards" "the rates are a table now" 58
agent search claude "Search: typing errors" "reads how the index is built" 3
agent login gemini "Sign in by a link" "the link ends after ten minutes" 71
agent mail opencode "Mails in two languages" "the templates are moved" 40
agent stock claude "Stock: two orders at once" "a test that fails now and then" 16
agent ship claude "Labels for returns" "prints the first label" 33
agent invoice codex "Invoices as PDF" "compares with last month's" 120
agent refund qwen "Refunds in two currencies" "rounds half up, as agreed" 12
agent report claude "Report of the month" "the sums agree" 64
agent deploy claude "Publish the packages" "the packages are built" 9
jq --null-input '{ tool_name: "Bash", tool_use_id: "t1", tool_input: { command: "npm publish --access public" } }' >"${scratch}/call"
call=$(cat "${scratch}/call")
event deploy-1 PermissionRequest "${PWD}/.fairway/worktrees/deploy" "${call}" >"${scratch}/request"
hook claude deploy-1 PermissionRequest <"${scratch}/request" &
started+=("$!")

# One came back: its work waits for a review.
cart=.fairway/worktrees/cart
cat >"${cart}/src/cart.rs" <<'RUST'
pub fn total(lines: &[Line]) -> Cents {
    lines.iter().map(|line| line.price * line.quantity).sum()
}

#[test]
fn total_counts_each_piece() {
    assert_eq!(total(&[line(500, 2), line(100, 1)]), 1_100);
}
RUST
rm "${cart}/src/cart.txt"
git -C "${cart}" add . && git -C "${cart}" commit --quiet --message "cart: the total counts each piece"
(cd "${cart}" && fw --session cart-1 --as backend evidence run T-1 --kind test -- true)
fw --session cart-1 note "the total counts each piece; one test more"
fw --session cart-1 --as backend task submit T-1
event cart-1 Stop "${PWD}/${cart}" | hook claude cart-1 Stop
# What waits to be claimed.
for title in "Gift wrap" "Faster start page" "Names of colours"; do fw task add "${title}"; done
fw task add "Prices with tax" --depends-on T-2
"${fairway}" overlap >/dev/null || true

env -u BROWSER -u DISPLAY -u WAYLAND_DISPLAY "${fairway}" serve --open --for 120s >"${scratch}/serve" &
started+=("$!")
chromedriver --port=0 >"${scratch}/driver" 2>/dev/null &
started+=("$!")
until grep -q 'open the board' "${scratch}/serve" && grep -q 'successfully on port' "${scratch}/driver" &&
  "${fairway}" approvals list --json | grep -q publish; do sleep 0.1; done
url=$(sed -n 's/^open the board, once and within two minutes: //p' "${scratch}/serve")
port=$(sed -n 's/.*successfully on port \([0-9]*\).*/\1/p' "${scratch}/driver")
post() { curl --silent --fail --header 'content-type: application/json' --data "$2" "$1"; }
flags=(--headless --no-sandbox --disable-gpu --disable-quic --disable-dev-shm-usage --no-first-run
  --disable-background-networking --disable-component-update --disable-sync --hide-scrollbars
  "--user-data-dir=${scratch}/chromium")
options=$(jq --null-input '{ capabilities: { alwaysMatch: { browserName: "chrome", "goog:chromeOptions": { args: $ARGS.positional } } } }' \
  --args -- "${flags[@]}")
id=$(post "http://127.0.0.1:${port}/session" "${options}" | jq --raw-output .value.sessionId)
browser=http://127.0.0.1:${port}/session/${id}

# The page at this address, so wide and so high, once this text is on it.
picture() {
  local path=$1 width=$2 height=$3 text=$4 name=$5 body
  post "${browser}/goog/cdp/execute" "{\"cmd\":\"Emulation.setDeviceMetricsOverride\",\"params\":{\"width\":${width},\"height\":${height},\"deviceScaleFactor\":1,\"mobile\":false}}" >/dev/null
  body=$(jq --null-input --arg url "${path}" '{ url: $url }')
  post "${browser}/url" "${body}" >/dev/null
  for _ in $(seq 100); do
    post "${browser}/execute/sync" '{"script":"return document.body.innerText","args":[]}' >"${scratch}/shown"
    if grep -q -- "${text}" "${scratch}/shown"; then break; fi
    sleep 0.2
  done
  sleep 1
  curl --silent "${browser}/screenshot" | jq --raw-output .value | base64 --decode >"${out}/${name}"
  printf '%s\n' "${out}/${name}"
}
origin=$(printf '%s' "${url}" | cut -d/ -f1-3)
picture "${url}" 1280 910 live page.png
picture "${origin}/review" 1280 620 total_counts review.png
picture "${origin}/tasks" 1280 800 "Gift wrap" tasks.png
