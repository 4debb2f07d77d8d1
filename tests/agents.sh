#!/usr/bin/env bash
# Installs the agents' command lines that tests drive, into cache directories, in the versions that were measured. Needs npm.
# `tests/agents.sh --all` installs those of `just agents` too. They need Python 3.12 or newer.
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

# Prints a Python that is new enough: the first one in PATH, or one that pyenv has.
new_python() {
  local found
  for found in python3.13 python3.12 python3 "${HOME}"/.pyenv/versions/3.1[23]*/bin/python3; do
    if "${found}" -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then
      printf '%s\n' "${found}"
      return
    fi
  done
  printf 'Vibe needs Python 3.12 or newer\n' >&2
  return 1
}

install_vibe() {
  local directory=${cache}/vibe python
  if [[ -d $(echo "${directory}"/lib/python*/site-packages/mistral_vibe-"$1".dist-info) ]]; then
    return
  fi
  python=$(new_python)
  printf '== installing mistral-vibe %s\n' "$1"
  "${python}" -m venv --clear "${directory}"
  "${directory}/bin/pip" install --quiet --disable-pip-version-check "mistral-vibe==$1"
}

install_agents npm @anthropic-ai/claude-code@2.1.329 @openai/codex@0.169.0 @google/gemini-cli@0.61.0
# Those that speak the Agent Client Protocol, with the command lines that they bring themselves.
install_agents npm-acp @agentclientprotocol/claude-agent-acp@0.101.0 @agentclientprotocol/codex-acp@2.6.0 \
  @google/gemini-cli@0.61.0 opencode-ai@1.18.33 @qwen-code/qwen-code@0.24.4
# Tools that look at every file of a project, and one that installs hooks of git.
install_agents npm-tools vitest@5.1.2 jest@30.5.2 eslint@10.15.0 prettier@3.10.1 @biomejs/biome@2.6.8 typescript@7.0.2 \
  husky@9.1.7
install_agents npm-acp-more @github/copilot@1.0.102 @moonshot-ai/kimi-code@2.1.0 droid@0.215.0
if [[ "${1:-}" = --all ]]; then
  install_agents npm-kilo @kilocode/cli@7.7.7
  install_vibe 3.0.2
fi
