#!/usr/bin/env bash
# Sourced by scripts that need programs: `need PROGRAM PACKAGE…` notes what is missing, `install_missing` installs it from
# Debian's packages, as root or with sudo.

missing_packages=()

need() {
  local program=$1
  shift
  command -v "${program}" >/dev/null 2>&1 || missing_packages+=("$@")
}

as_root() {
  if [[ "${EUID}" = 0 ]]; then "$@"; else sudo "$@"; fi
}

install_missing() {
  [[ "${#missing_packages[@]}" -gt 0 ]] || return 0
  printf '== installing %s\n' "${missing_packages[*]}"
  if ! command -v apt-get >/dev/null 2>&1; then
    printf 'this is no Debian: please install them by hand\n' >&2
    return 1
  fi
  as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing_packages[@]}" >/dev/null
}
