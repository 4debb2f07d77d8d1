#!/bin/sh
# Posts the notification on stdin, a JSON document, to a webhook.
#
# The address, and a token if there is one, are secrets: they come from a file that only you can read, and go to curl
# through its configuration on stdin, so that no process list shows them. The file has one or two lines:
#
#   url=https://example.com/hook
#   token=...
#
# FAIRWAY_WEBHOOK_FILE names another file than ~/.config/fairway/webhook.
set -eu

file=${FAIRWAY_WEBHOOK_FILE:-"${HOME}/.config/fairway/webhook"}
url=$(sed -n 's/^url=//p' "${file}")
token=$(sed -n 's/^token=//p' "${file}")
[ -n "${url}" ] || {
  echo "no url= in ${file}" >&2
  exit 1
}

body=$(mktemp)
trap 'rm -f "${body}"' EXIT
cat >"${body}"

{
  printf 'url = "%s"\n' "${url}"
  [ -z "${token}" ] || printf 'header = "Authorization: Bearer %s"\n' "${token}"
} | curl --config - --silent --show-error --fail --max-time 8 \
  --header 'Content-Type: application/json' --data-binary "@${body}" --output /dev/null
