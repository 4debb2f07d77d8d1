#!/bin/sh
# A dev server in miniature: checks its page, says where it listens, and does so again on "r". It never ends by itself.
set -u
page=${1:?which page?}
check() {
  if grep -q '</html>' "${page}"; then
    echo "ready: http://localhost:3000"
  else
    echo "error: ${page} is not closed" >&2
  fi
}
check
while read -r key; do
  if [ "${key}" = r ]; then
    echo "reloading"
    check
  fi
done
