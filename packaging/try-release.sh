#!/usr/bin/env bash
# Tries the files of a release in a bare Debian system without Rust, as a person would: `packaging/try-release.sh [DIRECTORY]`, by default
# target/release-files. The installer places the program, `fairway demo` and the day of examples/quickstart run, and the installer takes
# everything back; then the same for the Debian package. As root, with debootstrap and python3.
set -euo pipefail
cd "$(dirname "$0")/.."

files=$(realpath "${1:-target/release-files}")
suite=${DEBIAN_SUITE:-bookworm}
mirror=${DEBIAN_MIRROR:-}
machine=$(uname -m)
architecture=$(dpkg --print-architecture)
archives=("${files}"/fairway-*-"${machine}"-*.tar.gz)
packages=("${files}"/fairway_*_"${architecture}".deb)
if [[ ! -f "${archives[0]}" || ! -f "${packages[0]}" ]]; then
  printf 'error: %s has no release for this machine (%s)\nhint: packaging/release.sh\n' "${files}" "${machine}" >&2
  exit 1
fi
version=$(basename "${archives[0]}")
version=${version#fairway-}
version=${version%%-"${machine}"-*}

say() { printf '== %s\n' "$*"; }

top=$(mktemp -d /var/tmp/fairway-try-release.XXXXXX)
server=
finish() {
  [[ -z "${server}" ]] || kill "${server}" 2>/dev/null || true
  rm -rf --one-file-system -- "${top}"
}
trap finish EXIT
root=${top}/root

say "checksums"
(cd "${files}" && sha256sum --quiet --check SHA256SUMS)

say "a bare ${suite}"
debootstrap --variant=minbase --include=git,ca-certificates,wget,procps "${suite}" "${root}" ${mirror:+"${mirror}"} >"${top}/log" 2>&1 || {
  tail -5 "${top}/log" >&2
  exit 1
}
mkdir -p "${root}/src/examples" "${top}/public/releases/latest" "${top}/public/releases/download"
cp -R examples/quickstart "${root}/src/examples/"
cp -- "${files}/install.sh" "${packages[0]}" "${root}/"
# The addresses of a forge, on this machine.
ln -s "${files}" "${top}/public/releases/latest/download"
ln -s "${files}" "${top}/public/releases/download/v${version}"
python3 -u -m http.server --bind 127.0.0.1 --directory "${top}/public" 0 >"${top}/server" 2>&1 &
server=$!
until port=$(sed -nE 's/.* port ([0-9]+) .*/\1/p' "${top}/server") && [[ -n "${port}" ]]; do
  kill -0 "${server}"
  sleep 0.1
done

cat >"${root}/try.sh" <<'END'
set -eu
port=$1 version=$2
if command -v cargo || command -v rustc; then exit 1; fi
listed() {
  find / -xdev \( -path /proc -o -path /var/lib/dpkg -o -path /tmp \) -prune -o -type f -print | sort
}
# What an installation leaves once it is taken back.
left() {
  listed >/tmp/after
  if comm -13 /tmp/before /tmp/after | grep -E '^/(usr|etc|opt|lib|bin)/'; then
    printf 'error: the files above are left\n' >&2
    exit 1
  fi
}
day() {
  [ "$(fairway --version)" = "fairway ${version}" ]
  (cd /tmp && fairway demo)
  FAIRWAY=$(command -v fairway) bash /src/examples/quickstart/run.sh
}
export HOME=/home/ann
mkdir -p "${HOME}"
listed >/tmp/before

printf '== by the installer\n'
began=$(date +%s%N)
sh /install.sh --repository "http://127.0.0.1:${port}" --prefix /usr/local
printf '== installed in %s ms\n' "$((($(date +%s%N) - began) / 1000000))"
test -s /usr/local/share/bash-completion/completions/fairway
day
sh /install.sh --uninstall --prefix /usr/local
left

printf '== by the Debian package\n'
dpkg --install /fairway_*.deb
hash -r
day
dpkg --purge fairway
left
END
say "in the bare system"
unshare --mount --pid --fork --kill-child --mount-proc="${root}/proc" chroot "${root}" env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
  LANG=C.UTF-8 sh /try.sh "${port}" "${version}"
say "release ${version} is good on a bare ${suite}"
