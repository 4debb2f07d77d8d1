#!/bin/sh
# Shows the notification on stdin on the desktop, with a button for each action: Allow, Deny, Answer. It is for the command of a
# sink with actions = true. Without actions it shows the text alone.
#
# Needs jq, curl, setsid and a notify-send that knows --action (libnotify 0.8). A form opens with xdg-open.
set -eu

if [ "${1:-}" != --show ]; then
  # Only this user can read the tokens.
  umask 077
  directory=$(mktemp -d)
  cat >"${directory}/notification"
  # The buttons outlast this program: the sender waits for it, and then ends what it has left in its process group.
  setsid "$0" --show "${directory}" >/dev/null 2>&1 </dev/null &
  until [ -e "${directory}/shown" ]; do
    sleep 0.1
  done
  exit 0
fi

directory=$2
: >"${directory}/shown"
trap 'rm -rf "${directory}"' EXIT
title=$(jq --raw-output .title "${directory}/notification")
# The text may look like markup.
text=$(jq --raw-output '.text | @html' "${directory}/notification")
actions=$(jq --raw-output '.actions[].action' "${directory}/notification")
set -- --app-name=Fairway
for action in ${actions}; do
  label=$(jq --raw-output --arg action "${action}" '.actions[] | select(.action == $action) | .label' "${directory}/notification")
  set -- "$@" "--action=${action}=${label}"
done
chosen=$(notify-send "$@" -- "${title}" "${text}")
[ -n "${chosen}" ] || exit 0
jq --arg action "${chosen}" '.actions[] | select(.action == $action)' "${directory}/notification" >"${directory}/action"
if jq --exit-status '.body == null or .needs_text' "${directory}/action" >/dev/null; then
  form=$(jq --raw-output '.local_url + "?" + (.form | split("?")[1])' "${directory}/action")
  xdg-open "${form}"
else
  # The token is in no argument.
  jq --raw-output '"url = \(.local_url | tojson)\ndata = \(.body | tojson)"' "${directory}/action" >"${directory}/request"
  curl --config "${directory}/request" --silent --show-error --fail --max-time 30 --output /dev/null
fi
