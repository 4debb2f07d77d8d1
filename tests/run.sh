#!/usr/bin/env bash
# Installs what the tests need and is missing, then runs everything. As root, or with sudo. A test that cannot run fails.
# `tests/run.sh --install` only installs.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tests/need.sh
source tests/need.sh

say() { printf '== %s\n' "$*"; }

# A linker and C headers for SQLite; the programs that the tests drive, trace, mount and lint with.
need cc gcc libc6-dev
need git git
# The oldest supported git is Debian's. Beside a newer one it has a run of its own.
[[ -x /usr/bin/git ]] || missing_packages+=(git)
need sqlite3 sqlite3
need strace strace
need valgrind valgrind
need strip binutils
need unshare util-linux
need nsenter util-linux
need ip iproute2
need git-lfs git-lfs
need git-crypt git-crypt
need bwrap bubblewrap
need mount mount
need shellcheck shellcheck
need shfmt shfmt
need python3 python3
need tmux tmux
need less less
need screen screen
need pytest-3 python3-pytest
need flake8 flake8
need script bsdutils
need ssh-keygen openssh-client
need gpg gnupg
need pinentry-curses pinentry-curses
need flock util-linux
need make make
need perl perl
need curl curl
need jq jq
need zsh zsh
need fish fish
need setpriv util-linux
need setsid util-linux
need psql postgresql-client
need openssl openssl
need gh gh
need ps procps
need systemd-analyze systemd
need npm npm
need wget wget
need dpkg dpkg
need dpkg-deb dpkg
need tar tar
need xz xz-utils
need chromium chromium
need chromedriver chromium-driver
# Debian keeps these out of PATH.
[[ -x /usr/sbin/pgbouncer ]] || missing_packages+=(pgbouncer)
[[ -x /usr/sbin/nginx ]] || missing_packages+=(nginx-light)
compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || missing_packages+=(postgresql)
python3 -c "import ensurepip" 2>/dev/null || missing_packages+=(python3-venv)
/usr/bin/python3 -c "import setuptools, wheel, pip" 2>/dev/null ||
  missing_packages+=(python3-pip python3-setuptools python3-wheel)
# Registries are asked over TLS.
[[ -e /etc/ssl/certs/ca-certificates.crt ]] || missing_packages+=(ca-certificates)
install_missing
for part in fmt:rustfmt clippy:clippy; do
  if ! cargo "${part%%:*}" --version >/dev/null 2>&1; then
    say "installing ${part##*:}"
    rustup component add "${part##*:}"
  fi
done
if ! cargo nextest --version >/dev/null 2>&1; then
  say "installing cargo-nextest"
  cargo install cargo-nextest --locked --quiet
fi

node=$(tests/node.sh)
export PATH="${node}:${PATH}"
# Most of it is downloads, beside which the compilers run.
tests/agents.sh &
agents=$!
trap 'kill "${agents}" 2>/dev/null || true' EXIT
tests/axe.sh >/dev/null
tests/public-projects.sh >/dev/null
zellij=$(tests/zellij.sh)
schemathesis=$(tests/schemathesis.sh)
tests/actionlint.sh
tests/gh.sh >/dev/null
tests/glab.sh >/dev/null
packaging/cargo-deb.sh >/dev/null
export PATH="${PATH}:${zellij}:${schemathesis}"
if [[ "${1:-}" = --install ]]; then
  wait "${agents}"
  exit 0
fi

say "format"
cargo fmt --all --check
say "lints"
cargo clippy --locked --quiet -- -D warnings
cargo clippy --locked --all-targets --features bench,postgres --quiet -- -D warnings
# One build for all: releases have both engines, too.
say "tests"
export FAIRWAY_REQUIRE_ALL=1
# On a busy machine a process may be slower than a test allows. One that passes only when it is repeated is named `FLAKY` at the end: a bug.
export NEXTEST_RETRIES=2
cargo nextest run --locked --features postgres --no-run
tests/copy-programs.sh
wait "${agents}"
tests/in-memory.sh cargo nextest run --locked --features postgres
say "tests of commands, with their stores on a server"
FAIRWAY_TEST_ENGINE=postgres tests/in-memory.sh cargo nextest run --locked --features postgres --profile postgres -E 'test(/^(records|cli::(budget|claim|handoff|task_transitions|task_add|message))::/)'
older_git=$(tests/older-git.sh)
if [[ -n "${older_git}" ]]; then
  version=$(/usr/bin/git --version)
  say "tests of what touches git, with ${version}"
  PATH="${older_git}:${PATH}" tests/in-memory.sh cargo nextest run --locked --features postgres --profile git
fi
