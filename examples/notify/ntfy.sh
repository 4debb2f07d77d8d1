#!/bin/sh
# Sends the notification on stdin to an ntfy topic. The address of the topic is a secret: who knows it can read it.
#
# ~/.config/fairway/ntfy, or the file that FAIRWAY_NTFY_FILE names, has up to three lines:
#
#   url=https://ntfy.sh/a-topic-that-nobody-guesses
#   token=...
#   actions=view
#
# Of a sink with actions = true the notification has Allow, Deny and Answer as buttons, if the server speaks HTTPS in the network.
# The app posts an answer itself, so it must trust the certificate. With actions=view the buttons open a form in the browser.
#
# Needs curl and jq.
set -eu

file=${FAIRWAY_NTFY_FILE:-"${HOME}/.config/fairway/ntfy"}
url=$(sed -n 's/^url=//p' "${file}")
token=$(sed -n 's/^token=//p' "${file}")
way=$(sed -n 's/^actions=//p' "${file}")
[ -n "${url}" ] || {
  echo "no url= in ${file}" >&2
  exit 1
}

body=$(mktemp)
trap 'rm -f "${body}"' EXIT
# JSON to the address of the server needs no header for the title, which could hold no line break.
jq --arg topic "${url##*/}" --arg way "${way:-http}" '
  def button:
    if .body == null or .needs_text or $way == "view" then
      {action: "view", label: .label, url: .form}
    else
      {action: "http", label: .label, url, method: "POST", body, clear: true,
        headers: {"Content-Type": "application/x-www-form-urlencoded"}}
    end;
  [.actions[]? | select(.url | startswith("https:")) | button] as $actions
  | {topic: $topic, title, message: .text}
  + (if .link then {click: .link} else {} end)
  + (if $actions == [] then {} else {actions: $actions} end)
' >"${body}"

{
  printf 'url = "%s"\n' "${url%/*}"
  [ -z "${token}" ] || printf 'header = "Authorization: Bearer %s"\n' "${token}"
} | curl --config - --silent --show-error --fail --max-time 8 --data-binary "@${body}" --output /dev/null
