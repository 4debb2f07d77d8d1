#!/usr/bin/env bash
# Installs what the tests need and is missing, then runs everything. As root, or with sudo.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '== %s\n' "$*"; }

as_root() {
  if [[ "${EUID}" = 0 ]]; then "$@"; else sudo "$@"; fi
}

missing=()
need() { command -v "$1" >/dev/null 2>&1 || missing+=("$2"); }
need cc gcc
need git git
need sqlite3 sqlite3
need strace strace
need shellcheck shellcheck
need shfmt shfmt
if [[ "${#missing[@]}" -gt 0 ]]; then
  say "installing ${missing[*]}"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi
if ! cargo nextest --version >/dev/null 2>&1; then
  say "installing cargo-nextest"
  cargo install cargo-nextest --locked --quiet
fi

say "format"
cargo fmt --check
say "lints"
cargo clippy --locked --all-targets --quiet -- -D warnings
say "tests"
cargo nextest run --locked
