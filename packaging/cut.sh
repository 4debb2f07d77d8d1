#!/usr/bin/env bash
# Cuts the version of Cargo.toml: `packaging/cut.sh DATE`, such as 2026-11-28. The version's page in CHANGELOG gets the date, and the
# fixtures, which each later version must open and answer, are made anew by the program of this tree. Commits nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

date=${1:-}
if [[ ! "${date}" =~ ^[0-9]{4}-[0-9]{2}-[0-9]{2}$ ]]; then
  today=$(date +%F)
  printf 'error: the date is missing, or is not as 2026-11-28\nhint: packaging/cut.sh %s\n' "${today}" >&2
  exit 2
fi
version=$(sed -n '/^version = "/{s/.*"\(.*\)"$/\1/p;q}' Cargo.toml)
fixtures=tests/fixtures/version-${version%.*}
if sed -n '/^## \[Unreleased\]/,/^## \[[0-9]/p' CHANGELOG.md | grep -q '^- '; then
  printf 'error: CHANGELOG.md has changes that are not on the page of %s\nhint: fold them into that page: %s\n' \
    "${version}" "\${EDITOR:-vi} CHANGELOG.md" >&2
  exit 1
fi
if ! grep -q "^## \[${version}\]" CHANGELOG.md || [[ ! -f "${fixtures}/make.py" ]]; then
  printf 'error: %s has no page in CHANGELOG.md, or no %s/make.py\n' "${version}" "${fixtures}" >&2
  exit 1
fi

cargo build --locked --features postgres
python3 "${fixtures}/make.py" target/debug/fairway
sed -i "s/^## \[${version}\].*/## [${version}] - ${date}/" CHANGELOG.md
git status --short
printf 'next: cargo nextest run --locked -E '\''test(/^compat::/)'\''; git add --all; git commit --message="release: %s"; git tag v%s\n' \
  "${version}" "${version}"
