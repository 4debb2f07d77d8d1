#!/usr/bin/env bash
# Prints the directory of the schemathesis that tests drive, installed into a cache directory in the versions that were measured.
# Needs python3 with venv.
set -euo pipefail

pinned=$(dirname "$0")/schemathesis.txt
digest=$(sha256sum "${pinned}")
root=${XDG_CACHE_HOME:-${HOME}/.cache}/fairway-tests/schemathesis-${digest:0:12}

if [[ ! -e "${root}/complete" ]]; then
  printf '== installing schemathesis\n' >&2
  python3 -m venv --clear "${root}" >&2
  "${root}/bin/pip" install --quiet --disable-pip-version-check --requirement "${pinned}" >&2
  touch "${root}/complete"
fi
printf '%s\n' "${root}/bin"
