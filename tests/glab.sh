#!/usr/bin/env bash
# Prints the directory of the glab that tests drive, from Debian 13's package, kept in a cache directory. Debian 12 has none, and its
# libraries are new enough.
set -euo pipefail

root=${XDG_CACHE_HOME:-${HOME}/.cache}/fairway-tests/glab

if ! "${root}/usr/bin/glab" --version >/dev/null 2>&1; then
  printf '== installing glab\n' >&2
  apt=$(mktemp -d)
  trap 'rm -rf -- "${apt}"' EXIT
  chmod 755 "${apt}"
  mkdir -p "${apt}/lists/partial" "${apt}/cache/archives/partial"
  # The repository that this machine has Debian from.
  # shellcheck disable=SC2016 # A field of apt's format.
  from=$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Label: Debian' | sort -u)
  printf 'Types: deb\nURIs: %s\nSuites: trixie\nComponents: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n' \
    "${from%%$'\n'*}" >"${apt}/debian.sources"
  own=(-qq -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=${apt}" -o "Dir::State::Lists=${apt}/lists" -o "Dir::Cache=${apt}/cache")
  apt-get "${own[@]}" update >&2
  (cd "${apt}" && apt-get "${own[@]}" download glab >&2)
  mkdir -p "${root}"
  dpkg-deb -x "${apt}"/glab_*.deb "${root}"
fi
printf '%s\n' "${root}/usr/bin"
