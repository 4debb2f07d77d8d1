#!/bin/sh
# Sends the notification on stdin to an incoming webhook of Slack. The address of the webhook is a secret.
#
# ~/.config/fairway/slack, or the file that FAIRWAY_SLACK_FILE names, has one line: url=https://hooks.slack.com/services/...
#
# Needs curl and jq.
set -eu

file=${FAIRWAY_SLACK_FILE:-"${HOME}/.config/fairway/slack"}
url=$(sed -n 's/^url=//p' "${file}")
[ -n "${url}" ] || {
  echo "no url= in ${file}" >&2
  exit 1
}

body=$(mktemp)
trap 'rm -f "${body}"' EXIT
# Plain text: nothing in it becomes a link or a mention.
jq '{blocks: [{type: "section", text: {type: "plain_text", text: (.title + "\n" + .text)[0:2900]}}], text: .title}' >"${body}"

printf 'url = "%s"\n' "${url}" | curl --config - --silent --show-error --fail --max-time 8 \
  --header 'Content-Type: application/json' --data-binary "@${body}" --output /dev/null
