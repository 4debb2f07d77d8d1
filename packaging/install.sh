#!/bin/sh
# Installs a release of Fairway: the program, its completions and its manual pages, below one prefix. It places nothing before
# the archive has the SHA-256 checksum of the release, and it needs no root.
#
#   sh install.sh [--version V] [--prefix DIR] [--repository URL] [--sha256 HEX]
#   sh install.sh --uninstall [--prefix DIR]
#
# Functions in conditions answer by their exit code, and none of them needs `set -e` for it.
# shellcheck disable=SC2310
set -eu

# The release script writes the address of the repository here.
default_repository=""

usage() {
  cat <<'END'
Install a release of Fairway, verified by its SHA-256 checksum.

Usage: install.sh [OPTIONS]

Options:
  --version V       Version, such as 0.1.0; default: the newest release
  --prefix DIR      Where bin/ and share/ are; default: ~/.local
  --repository URL  Repository with the releases, such as https://github.com/OWNER/fairway
  --sha256 HEX      Checksum that the archive must have; default: the release's SHA256SUMS
  --uninstall       Remove the files that this script installed below the prefix
  --help            Print help

Variables: FAIRWAY_VERSION, FAIRWAY_PREFIX, FAIRWAY_REPOSITORY
END
}

fail() {
  printf 'error: %s\n' "$1" >&2
  if [ -n "${2:-}" ]; then
    printf 'hint: %s\n' "$2" >&2
  fi
  exit 1
}

has() {
  command -v "$1" >/dev/null 2>&1
}

# Fetches an address into a file.
fetch() {
  case $1 in
    https://*) is_https=1 ;;
    *) is_https=0 ;;
  esac
  if has curl; then
    if [ "${is_https}" = 1 ]; then
      curl --proto '=https' --tlsv1.2 --fail --silent --show-error --location --output "$2" "$1"
    else
      curl --fail --silent --show-error --location --output "$2" "$1"
    fi
  elif has wget; then
    wget --quiet --tries=1 --output-document="$2" "$1"
  else
    fail "neither curl nor wget is installed" "install one of them: apt install curl"
  fi
}

sha256_of() {
  if has sha256sum; then
    sum=$(sha256sum "$1")
  elif has shasum; then
    sum=$(shasum -a 256 "$1")
  elif has openssl; then
    sum=$(openssl dgst -sha256 -r "$1")
  else
    fail "sha256sum, shasum and openssl are missing, so the archive cannot be verified"
  fi
  printf '%s\n' "${sum%% *}"
}

is_sha256() {
  case $1 in
    *[!0-9a-f]*) return 1 ;;
    *) [ "${#1}" -eq 64 ] ;;
  esac
}

is_version() {
  case $1 in
    "" | *[!0-9A-Za-z.+-]*) return 1 ;;
    [0-9]*) return 0 ;;
    *) return 1 ;;
  esac
}

# The names that the list of installed files may have: below the prefix, in two directories.
is_installed_name() {
  case $1 in
    *..*) return 1 ;;
    bin/* | share/*) return 0 ;;
    *) return 1 ;;
  esac
}

# Removes the files of the list, except those of a second list.
remove_listed() {
  while IFS= read -r name; do
    if ! is_installed_name "${name}"; then
      continue
    fi
    if [ -n "${2:-}" ] && grep -qxF -- "${name}" "$2"; then
      continue
    fi
    rm -f -- "${prefix}/${name}"
  done <"$1"
}

uninstall() {
  [ -f "${list}" ] || fail "${list} does not exist: this script has installed nothing below ${prefix}"
  remove_listed "${list}"
  rm -f -- "${list}"
  rmdir -- "${list%/*}" 2>/dev/null || true
  printf 'removed Fairway from %s; projects and their stores stay\n' "${prefix}"
}

# Copies one file beside its place. Only when every file is there, each is renamed: a full disk leaves the old release whole, and
# a running program keeps its old file.
stage() {
  printf '%s\n' "$2" >>"${work}/list"
  {
    mkdir -p -- "${prefix}/${2%/*}" && cp -- "$1" "${prefix}/$2.new.$$" && chmod "$3" "${prefix}/$2.new.$$"
  } || fail "${prefix}/$2 cannot be written; nothing was installed" "choose another directory: install.sh --prefix DIR"
}

# Removes what is not in its place yet.
clean_up() {
  if [ -f "${work}/list" ]; then
    while IFS= read -r name; do
      rm -f -- "${prefix}/${name}.new.$$"
    done <"${work}/list"
  fi
  rm -rf -- "${work}"
}

install_release() {
  system=$(uname -s)
  [ "${system}" = Linux ] || fail "Fairway needs Linux; this is ${system}"
  machine=$(uname -m)
  case ${machine} in
    x86_64 | amd64) target=x86_64-unknown-linux-musl ;;
    aarch64 | arm64) target=aarch64-unknown-linux-musl ;;
    *) fail "there is no release for ${machine}" "build it from the sources: cargo install --path . --locked" ;;
  esac
  [ -n "${repository}" ] || fail "the repository is unknown" "name it: install.sh --repository https://HOST/OWNER/fairway"
  case ${repository} in
    https://* | http://*) ;;
    *) fail "invalid repository '${repository}': must begin with https://" ;;
  esac

  work=$(mktemp -d)
  trap clean_up EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM

  if [ -n "${version}" ]; then
    from="${repository}/releases/download/v${version}"
  else
    from="${repository}/releases/latest/download"
  fi
  if [ -z "${sha256}" ]; then
    fetch "${from}/SHA256SUMS" "${work}/SHA256SUMS" || fail "${from}/SHA256SUMS cannot be fetched"
    while read -r sum name; do
      case ${name} in
        fairway-*-"${target}".tar.gz)
          found=${name#fairway-}
          found=${found%-"${target}".tar.gz}
          if [ -z "${version}" ] || [ "${version}" = "${found}" ]; then
            sha256=${sum}
            version=${found}
          fi
          ;;
        *) ;;
      esac
    done <"${work}/SHA256SUMS"
    [ -n "${sha256}" ] || fail "SHA256SUMS of the release names no archive for ${target}"
  fi
  is_version "${version}" || fail "invalid version '${version}'" "name the version of --sha256: install.sh --version V --sha256 HEX"
  is_sha256 "${sha256}" || fail "invalid SHA-256 checksum '${sha256}'"

  name="fairway-${version}-${target}"
  archive="${work}/${name}.tar.gz"
  address="${repository}/releases/download/v${version}/${name}.tar.gz"
  fetch "${address}" "${archive}" || fail "${address} cannot be fetched"
  actual=$(sha256_of "${archive}")
  if [ "${actual}" != "${sha256}" ]; then
    fail "${name}.tar.gz has the SHA-256 checksum ${actual}, not ${sha256}; nothing was installed"
  fi
  tar -xzf "${archive}" -C "${work}"
  unpacked="${work}/${name}"
  reported=$("${unpacked}/fairway" --version) || fail "the program of ${name}.tar.gz does not run here; nothing was installed"
  if [ "${reported}" != "fairway ${version}" ]; then
    fail "the program of ${name}.tar.gz says '${reported}'; nothing was installed"
  fi

  : >"${work}/list"
  stage "${unpacked}/fairway" bin/fairway 755
  stage "${unpacked}/completions/fairway.bash" share/bash-completion/completions/fairway 644
  stage "${unpacked}/completions/_fairway" share/zsh/site-functions/_fairway 644
  stage "${unpacked}/completions/fairway.fish" share/fish/vendor_completions.d/fairway.fish 644
  for page in "${unpacked}"/man/*.1; do
    stage "${page}" "share/man/man1/${page##*/}" 644
  done
  mkdir -p -- "${list%/*}"
  # From here on --uninstall finds the files of both releases, wherever this ends.
  cat -- "${work}/list" >>"${list}"
  while IFS= read -r name; do
    mv -f -- "${prefix}/${name}.new.$$" "${prefix}/${name}"
  done <"${work}/list"
  remove_listed "${list}" "${work}/list"
  cp -- "${work}/list" "${list}"
  printf 'installed Fairway %s: %s/bin/fairway\n' "${version}" "${prefix}"
  case ":${PATH}:" in
    *":${prefix}/bin:"*) ;;
    *) printf 'note: %s/bin is not in PATH: export PATH="%s/bin:%s"\n' "${prefix}" "${prefix}" "\${PATH}" ;;
  esac
}

main() {
  version=${FAIRWAY_VERSION:-}
  prefix=${FAIRWAY_PREFIX:-}
  repository=${FAIRWAY_REPOSITORY:-${default_repository}}
  sha256=""
  action=install_release
  while [ "$#" -gt 0 ]; do
    case $1 in
      --help)
        usage
        return 0
        ;;
      --uninstall)
        action=uninstall
        shift
        continue
        ;;
      --version | --prefix | --repository | --sha256)
        [ "$#" -ge 2 ] || fail "a value is missing for $1" "read the help: install.sh --help"
        ;;
      *) fail "unknown argument '$1'" "read the help: install.sh --help" ;;
    esac
    case $1 in
      --version) version=$2 ;;
      --prefix) prefix=$2 ;;
      --repository) repository=$2 ;;
      *) sha256=$2 ;;
    esac
    shift 2
  done
  version=${version#v}
  repository=${repository%/}
  if [ -z "${prefix}" ]; then
    [ -n "${HOME:-}" ] || fail "HOME is not set" "name the prefix: install.sh --prefix DIR"
    prefix="${HOME}/.local"
  fi
  case ${prefix} in
    /*) ;;
    *) prefix="$(pwd)/${prefix}" ;;
  esac
  list="${prefix}/share/fairway/installed-files"
  "${action}"
}

# The last line: a script that was cut off on its way does nothing.
main "$@"
