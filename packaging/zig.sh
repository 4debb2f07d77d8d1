#!/usr/bin/env bash
# Prints the directory of cargo-zigbuild and its zig, which compile SQLite and link for musl on every architecture: installed from
# their Python packages into a cache directory, once. Needs python3 with venv.
set -euo pipefail

zig=0.17.1
zigbuild=0.24.0
root=${XDG_CACHE_HOME:-${HOME}/.cache}/fairway-tests/zigbuild-${zigbuild}-${zig}

if ! "${root}/bin/cargo-zigbuild" --version 2>/dev/null | grep -qF "${zigbuild}"; then
  printf '== installing zig %s and cargo-zigbuild %s\n' "${zig}" "${zigbuild}" >&2
  python3 -m venv "${root}" >&2
  "${root}/bin/pip" install --quiet --disable-pip-version-check "ziglang==${zig}" "cargo-zigbuild==${zigbuild}" >&2
fi
printf '%s\n' "${root}/bin"
