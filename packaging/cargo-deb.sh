#!/usr/bin/env bash
# Prints the directory of the cargo-deb that makes the packages: built from its crate into a cache directory, once.
set -euo pipefail

version=3.8.0
root=${XDG_CACHE_HOME:-${HOME}/.cache}/fairway-tests/cargo-deb-${version}

if ! "${root}/bin/cargo-deb" --version 2>/dev/null | grep -qF "${version}"; then
  printf '== building cargo-deb %s, once: a minute\n' "${version}" >&2
  CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
    CARGO_PROFILE_RELEASE_DEBUG=0 cargo install cargo-deb --version "${version}" --locked --quiet --no-default-features \
    --root "${root}" >&2
fi
printf '%s\n' "${root}/bin"
