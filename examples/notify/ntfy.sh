#!/bin/sh
# Sends the notification on stdin to an ntfy topic. The address of the topic is a secret: who knows it can read it.
#
# ~/.config/fairway/ntfy, or the file that FAIRWAY_NTFY_FILE names, has one or two lines:
#
#   url=https://ntfy.sh/a-topic-that-nobody-guesses
#   token=...
#
# Needs curl and jq.
set -eu

file=${FAIRWAY_NTFY_FILE:-"${HOME}/.config/fairway/ntfy"}
url=$(sed -n 's/^url=//p' "${file}")
token=$(sed -n 's/^token=//p' "${file}")
[ -n "${url}" ] || {
  echo "no url= in ${file}" >&2
  exit 1
}

body=$(mktemp)
trap 'rm -f "${body}"' EXIT
# JSON to the address of the server needs no header for the title, which could hold no line break.
jq --arg topic "${url##*/}" '{topic: $topic, title, message: .text} + (if .link then {click: .link} else {} end)' >"${body}"

{
  printf 'url = "%s"\n' "${url%/*}"
  [ -z "${token}" ] || printf 'header = "Authorization: Bearer %s"\n' "${token}"
} | curl --config - --silent --show-error --fail --max-time 8 --data-binary "@${body}" --output /dev/null
