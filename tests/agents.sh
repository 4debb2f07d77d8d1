#!/usr/bin/env bash
# Installs the agents' command lines that tests drive, into a cache directory, in the versions that were measured. Needs npm.
set -euo pipefail

cache=${XDG_CACHE_HOME:-${HOME}/.cache}/fairway-tests/npm
agents=(@anthropic-ai/claude-code@2.1.329 @openai/codex@0.169.0 @google/gemini-cli@0.61.0)

missing=0
for agent in "${agents[@]}"; do
  grep -qF "\"version\": \"${agent##*@}\"" "${cache}/node_modules/${agent%@*}/package.json" 2>/dev/null || missing=1
done
if [[ "${missing}" = 0 ]]; then
  exit 0
fi
# All at once: npm removes packages that a later call does not name.
printf '== installing %s\n' "${agents[*]}"
mkdir -p "${cache}"
npm install --prefix "${cache}" --no-audit --no-fund --no-save --loglevel error "${agents[@]}"
