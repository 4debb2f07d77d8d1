#!/usr/bin/env bash
# Puts three published packages with their own tests into a cache directory, as their repositories have them, with what their package
# managers install: an npm, a Python and a cargo one. Prints the directory. Needs npm, python3 with venv, and cargo.
set -euo pipefail

root=${XDG_CACHE_HOME:-${HOME}/.cache}/fairway-tests/public-projects-1

if [[ ! -e "${root}/complete" ]]; then
  printf '== fetching public projects\n' >&2
  rm -rf -- "${root}"
  mkdir -p "${root}"/{npm,python,cargo,wheels,tmp}
  cd "${root}/tmp"
  {
    npm pack --silent json-stable-stringify@1.0.1
    tar --extract --gzip --strip-components 1 --directory "${root}/npm" --file json-stable-stringify-1.0.1.tgz
    # A package has no lock file; its repository does.
    (cd "${root}/npm" && npm install --package-lock-only --no-audit --no-fund --loglevel error)
    cp -r "${root}/npm" installed
    (cd installed && npm ci --cache "${root}/npm-cache" --no-audit --no-fund --loglevel error)

    python3 -m venv venv
    pip=(venv/bin/pip --quiet --disable-pip-version-check)
    "${pip[@]}" download --no-deps --no-binary :all: jsonpatch==1.33
    tar --extract --gzip --strip-components 1 --directory "${root}/python" --file jsonpatch-1.33.tar.gz
    "${pip[@]}" download --dest "${root}/wheels" --requirement "${root}/python/requirements.txt"

    mkdir -p fetch/src
    touch fetch/src/lib.rs
    printf '[package]\nname = "fetch"\nedition = "2021"\n[dependencies]\nstrsim = "=0.11.1"\n[workspace]\n' >fetch/Cargo.toml
    cargo fetch --quiet --manifest-path fetch/Cargo.toml
    fetched=("${CARGO_HOME:-${HOME}/.cargo}"/registry/src/*/strsim-0.11.1)
    cp -r "${fetched[0]}/." "${root}/cargo"
    (cd "${root}/cargo" && cargo generate-lockfile --quiet)

    # What their repositories ignore is in no package.
    printf 'node_modules\n' >"${root}/npm/.gitignore"
    printf '.venv\n__pycache__\n' >"${root}/python/.gitignore"
    printf 'target\n' >"${root}/cargo/.gitignore"
  } >&2
  rm -rf -- "${root}/tmp"
  touch "${root}/complete"
fi
printf '%s\n' "${root}"
