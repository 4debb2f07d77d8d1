#!/bin/sh
# Plays Claude Code, without a model: calls Fairway's hook where Claude Code does, and does a fixed piece of work.
set -eu
case "$*" in *--version*) echo "2.1.329 (Claude Code)" && exit ;; *) ;; esac
task=${FAIRWAY_TASK_ID:?start me with fairway start}
hook() {
  printf '{"session_id":"claude-1","cwd":"%s","hook_event_name":"%s",%s}' "${PWD}" "$1" "$2" | fairway hook claude "$1"
}
# Begins a turn. The hook's answer has the messages that wait.
turn() { hook UserPromptSubmit '"prompt":"go on"' >/dev/null; }
# Runs a command as Claude Code does: the guard judges it, and with "ask" a person does, too.
shell() {
  call=$(printf '"tool_name":"Bash","tool_use_id":"%s","tool_input":{"command":"%s"}' "$1" "$3")
  case $(hook PreToolUse "${call}") in *'"deny"'*) echo "denied: $3" && return ;; *) ;; esac
  if [ "$2" = ask ]; then
    case $(hook PermissionRequest "${call}") in *'"allow"'*) ;; *) echo "not allowed: $3" && return ;; esac
  fi
  sh -c "$3"
}
edit() {
  sed "$1" cart.awk >cart.new
  mv cart.new cart.awk
}
submit() {
  fairway evidence run "${task}" --check total
  fairway task submit "${task}"
  hook Stop '"stop_hook_active":false,"last_assistant_message":"Submitted."' >/dev/null
}
# Waits for a line of the terminal with this text: messages to an idle agent are typed.
wait_for() {
  while IFS= read -r line; do
    case ${line} in *"$1"*) return ;; *) ;; esac
  done
  exit
}

turn
fairway note "found it: the quantity is never used"
# shellcheck disable=SC2016  # They are columns of awk.
edit 's/+= [$]2 /+= $2 * $3 /'
shell 1 ask "git commit --quiet --all --message 'the total counts the quantity'"
shell 2 - "git push --force origin main"
submit
wait_for "asks for changes"
turn
edit 's/print sum/print sum + 0/'
git commit --quiet --all --message "the total of an empty cart is 0"
submit
wait_for "no more"
