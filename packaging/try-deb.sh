#!/usr/bin/env bash
# Installs a Debian package of Fairway in a bare Debian system without Rust, sets up a project, claims a task, and removes the
# package: `packaging/try-deb.sh PACKAGE`. As root, with debootstrap.
set -euo pipefail

package=$(realpath "$1")
suite=${DEBIAN_SUITE:-bookworm}
top=$(mktemp -d /var/tmp/fairway-try-deb.XXXXXX)
trap 'rm -rf --one-file-system -- "${top}"' EXIT

printf '== a bare %s\n' "${suite}"
debootstrap --variant=minbase --include=git,ca-certificates "${suite}" "${top}" >"${top}.log" 2>&1 || {
  tail -5 "${top}.log" >&2
  exit 1
}
rm -f -- "${top}.log"
cp -- "${package}" "${top}/fairway.deb"
cat >"${top}/try.sh" <<'END'
set -eu
if command -v cargo || command -v rustc; then exit 1; fi
find / -xdev \( -path /proc -o -path /var/lib/dpkg \) -prune -o -type f -print | sort >/before
begun=$(date +%s%N)
dpkg --install /fairway.deb
fairway --version
mkdir -p /home/ann/shop
cd /home/ann/shop
export HOME=/home/ann
git init --quiet
fairway setup --yes
fairway task add "Fix the tax"
fairway claim
printf '== from the package to a claimed task: %s ms\n' "$((($(date +%s%N) - begun) / 1000000))"
dpkg --purge fairway
cd /
find / -xdev \( -path /proc -o -path /var/lib/dpkg \) -prune -o -type f -print | sort >/after
printf '== files that are there now and were not before\n'
comm -13 /before /after | grep -vE '^/(before|after)$'
test -f /home/ann/shop/.fairway/fairway.db
if comm -13 /before /after | grep -E '^/(usr|etc|opt|lib|bin)/'; then
  printf 'error: a file of the package is left\n' >&2
  exit 1
fi
END
printf '== in the bare system\n'
unshare --mount --pid --fork --kill-child --mount-proc="${top}/proc" chroot "${top}" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
  LANG=C.UTF-8 sh /try.sh
