#!/usr/bin/env bash
# Runs tests on another Fairway binary, such as that of a release: `tests/with-program.sh BINARY [NEXTEST ARGUMENT]…`. The
# binary is mounted over the built one, in a mount namespace of its own: as root.
set -euo pipefail

binary=$(realpath "$1")
shift
cd "$(dirname "$0")/.."
plan=$(mktemp -d)
trap 'rm -rf -- "${plan}"' EXIT
cargo metadata --locked --format-version 1 >"${plan}/cargo.json"
cargo nextest list --locked --features postgres --list-type binaries-only --message-format json >"${plan}/binaries.json"
built=$(jq -r '."rust-build-meta"."target-directory"' "${plan}/binaries.json")/debug/fairway
# shellcheck disable=SC2016  # The inner shell expands them.
unshare --mount --propagation private bash -euc 'mount --bind "$1" "$2"; shift 2; exec cargo nextest run "$@"' with-program \
  "${binary}" "${built}" --cargo-metadata "${plan}/cargo.json" --binaries-metadata "${plan}/binaries.json" "$@"
