#!/bin/sh
# Plays Codex, without a model: calls Fairway's hook where Codex does, and does a fixed piece of work.
set -eu
case "$*" in
  *--version*) echo "codex-cli 0.169.0" && exit ;;
  # Fairway asks which hooks Codex has loaded and trusts: those of its arguments, and those of the project.
  *app-server*)
    {
      printf '%s\n' "$@" | sed -n 's/.*command="\([^"]*\)".*/\1/p'
      [ ! -e .codex/hooks.json ] || sed -n 's/.*"command": "\([^"]*\)".*/\1/p' .codex/hooks.json
    } | awk -v file="${PWD}/.codex/hooks.json" '
      { hooks = hooks (NR > 1 ? "," : "") "{\"sourcePath\":\"" file "\",\"command\":\"" $0 "\",\"trustStatus\":\"trusted\"}" }
      END { print "{\"id\":2,\"result\":{\"data\":[{\"hooks\":[" hooks "]}]}}" }'
    exit
    ;;
  *) ;;
esac
task=${FAIRWAY_TASK_ID:?start me with fairway start}
hook() {
  printf '{"session_id":"codex-1","turn_id":"1","cwd":"%s","hook_event_name":"%s",%s}' "${PWD}" "$1" "$2" |
    fairway hook codex "$1" >/dev/null
}
turn() { hook UserPromptSubmit '"prompt":"go on"'; }
end() { hook Stop '"stop_hook_active":false,"last_assistant_message":"Done."'; }
edit() {
  sed "$1" cart.awk >cart.new
  mv cart.new cart.awk
}
submit() {
  git commit --quiet --all --message "the total names its currency"
  fairway evidence run "${task}" -- sh -c 'echo "pen 2 1" | awk -f cart.awk'
  fairway task submit "${task}"
  end
}
# Waits for a line of the terminal with this text: answers and messages to an idle agent are typed.
wait_for() {
  while IFS= read -r line; do
    case ${line} in *"$1"*) return ;; *) ;; esac
  done
  exit
}

turn
fairway checkpoint record "${task}" --state awaiting_input --summary "which currency: EUR or USD?"
end
wait_for EUR
turn
edit 's/print sum/print sum, "EUR"/'
submit
wait_for "landed"
turn
git merge --quiet main >/dev/null 2>&1 || git checkout --quiet --theirs cart.awk
edit 's/print sum + 0/print sum + 0, "EUR"/'
submit
wait_for "no more"
