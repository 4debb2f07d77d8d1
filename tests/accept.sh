#!/usr/bin/env bash
# Rewrites everything that an intended change rewrites: snapshots, documents, schemas, the example of the configuration, plugins and the
# budgets of instructions. One of them can be made from another, so that it repeats until nothing changes. Review `git diff` afterwards.
#
#   tests/accept.sh [EXPRESSION]    only the tests that a nextest expression selects
set -euo pipefail
cd "$(dirname "$0")/.."

written='kind(lib) & test(/codes_document|exit_codes|store::schema/)
+ test(/^(cli|docs|help|mcp|plugins|instruction_budget)::/) + test(/^top::(frames|pictures)/) + test(example_configuration_is_made)'
expression=${1:-${written}}
rounds=4

# Everything in the working tree that git does not ignore, as one digest.
state() {
  git ls-files -z --cached --others --exclude-standard | xargs -0 sha256sum 2>/dev/null | sha256sum || true
}

export INSTA_UPDATE=always UPDATE_BUDGETS=1 UPDATE_DOCS=1 UPDATE_EXAMPLE=1 UPDATE_PLUGINS=1
for ((round = 1; round <= rounds; round++)); do
  printf '== round %d\n' "${round}"
  before=$(state)
  code=0
  cargo nextest run --locked --features postgres --no-fail-fast -E "${expression}" || code=$?
  # Snapshots inside of a test's source are proposals until this command writes them.
  pending=$(find src tests -name '.*.pending-snap' | wc -l)
  if ((pending > 0)); then
    if ! cargo insta --version >/dev/null 2>&1; then
      printf 'error: %d files of tests have new snapshots in their source, and cargo-insta is missing\n' "${pending}" >&2
      printf 'hint: cargo install cargo-insta --locked && just accept\n' >&2
      exit 1
    fi
    cargo insta accept --all
  fi
  after=$(state)
  if [[ "${before}" = "${after}" ]]; then
    if ((code != 0)); then
      printf 'error: the tests above fail, and no file that they write would mend it\n' >&2
    fi
    git status --short
    exit "${code}"
  fi
done
printf 'error: files still change after %d rounds\n' "${rounds}" >&2
exit 1
