#!/usr/bin/env bash
# Fairway's background runs beside pueue, task-spooler and nq: how fast they are, and what is told of a run whose keeper was
# killed with SIGKILL. Prints tables.
#
#   benches/peers.sh [--install] [speed|killed]
#
# `--install` brings the peers: pueue from its crate into a cache folder, the others from Debian's packages. What is not there
# is said and left out.
set -euo pipefail
cd "${0%/*}/.."

version=4.0.4
root=${XDG_CACHE_HOME:-${HOME}/.cache}/fairway-tests/pueue-${version}

if [[ "${1:-}" = --install ]]; then
  shift
  # shellcheck source=/dev/null
  source tests/need.sh
  need tsp task-spooler
  need nq nq
  install_missing
  if ! command -v pueued >/dev/null && [[ ! -x "${root}/bin/pueued" ]]; then
    printf '== building pueue %s, once: minutes\n' "${version}" >&2
    cargo install pueue --version "${version}" --locked --quiet --root "${root}" >&2
  fi
fi
cargo build --locked --release --features bench --bins --examples
FAIRWAY_PEERS="${root}/bin" exec cargo bench --locked --bench peers -- "$@"
