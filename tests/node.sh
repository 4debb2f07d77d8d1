#!/usr/bin/env bash
# Prints the directory of a Node that is new enough for the agents' command lines: the one in PATH, else one installed from npm's
# package `node` into a cache directory. Debian's is older. Needs npm, of any version.
set -euo pipefail

oldest=22
version=22.23.3
root=${XDG_CACHE_HOME:-${HOME}/.cache}/fairway-tests/node-${version}
bin=${root}/node_modules/node/bin

if found=$(command -v node); then
  major=$(node --print 'process.versions.node.split(".")[0]')
  if [[ "${major}" -ge "${oldest}" ]]; then
    printf '%s\n' "${found%/*}"
    exit 0
  fi
fi
if ! "${bin}/node" --version 2>/dev/null | grep -qxF "v${version}"; then
  printf '== installing node %s\n' "${version}" >&2
  mkdir -p "${root}"
  npm install --prefix "${root}" --no-audit --no-fund --no-save --loglevel error "node@${version}" >&2
fi
printf '%s\n' "${bin}"
