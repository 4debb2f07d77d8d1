#!/usr/bin/env bash
# Prints the folder of the zellij that tests drive: the one in PATH, else one built from its crate into a cache folder, in the
# version that was measured. Debian does not carry it, and no registry has it built.
set -euo pipefail

version=0.45.1
root=${XDG_CACHE_HOME:-${HOME}/.cache}/fairway-tests/zellij-${version}

if found=$(command -v zellij); then
  printf '%s\n' "${found%/*}"
  exit 0
fi
if ! "${root}/bin/zellij" --version 2>/dev/null | grep -qF "${version}"; then
  printf '== building zellij %s, once: minutes\n' "${version}" >&2
  # What tests need of it is neither its speed nor its web server.
  CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
    CARGO_PROFILE_RELEASE_DEBUG=0 cargo install zellij --version "${version}" --locked --quiet --no-default-features \
    --features vendored_curl --root "${root}" >&2
fi
printf '%s\n' "${root}/bin"
