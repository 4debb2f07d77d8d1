#!/usr/bin/env bash
# Installs the agents' command lines that tests drive, into cache directories, in the versions that were measured. Needs npm.
set -euo pipefail

cache=${XDG_CACHE_HOME:-${HOME}/.cache}/fairway-tests

# Installs packages into a directory of the cache, unless each is there in its version.
install_agents() {
  local directory=${cache}/$1 missing=0 agent
  shift
  for agent in "$@"; do
    grep -qF "\"version\": \"${agent##*@}\"" "${directory}/node_modules/${agent%@*}/package.json" 2>/dev/null || missing=1
  done
  if [[ "${missing}" = 0 ]]; then
    return
  fi
  # All at once: npm removes packages that a later call does not name.
  printf '== installing %s\n' "$*"
  mkdir -p "${directory}"
  npm install --prefix "${directory}" --no-audit --no-fund --no-save --loglevel error "$@"
}

install_agents npm @anthropic-ai/claude-code@2.1.329 @openai/codex@0.169.0 @google/gemini-cli@0.61.0
# Those that speak the Agent Client Protocol, with the command lines that they bring themselves.
install_agents npm-acp @agentclientprotocol/claude-agent-acp@0.101.0 @agentclientprotocol/codex-acp@2.6.0 \
  @google/gemini-cli@0.61.0 opencode-ai@1.18.33 @qwen-code/qwen-code@0.24.4
