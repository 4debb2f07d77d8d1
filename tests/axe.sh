#!/usr/bin/env bash
# Installs axe-core, which judges the pages in the browser, into a cache directory, in the version that was measured, and prints its
# file. Needs npm.
set -euo pipefail

version=4.14.1
root=${XDG_CACHE_HOME:-${HOME}/.cache}/fairway-tests/axe-core-${version}
file=${root}/node_modules/axe-core/axe.min.js

if [[ ! -e "${file}" ]]; then
  printf '== installing axe-core %s\n' "${version}" >&2
  mkdir -p "${root}"
  npm install --prefix "${root}" --no-audit --no-fund --no-save --ignore-scripts --loglevel error "axe-core@${version}" >&2
fi
sha256sum --quiet --check >&2 <<<"29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c  ${file}"
printf '%s\n' "${file}"
