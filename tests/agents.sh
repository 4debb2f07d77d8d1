#!/usr/bin/env bash
# Installs the agents' command lines that tests drive, where npm is: into a cache folder, in the versions that were measured.
set -euo pipefail

cache=${XDG_CACHE_HOME:-${HOME}/.cache}/fairway-tests/npm
claude=@anthropic-ai/claude-code@2.1.329

if ! command -v npm >/dev/null 2>&1; then
  printf '== npm is missing: no agent is driven\n'
  exit 0
fi
if "${cache}/node_modules/.bin/claude" --version 2>/dev/null | grep -qF "${claude##*@}"; then
  exit 0
fi
printf '== installing %s\n' "${claude}"
mkdir -p "${cache}"
npm install --prefix "${cache}" --no-audit --no-fund --no-save --loglevel error "${claude}"
