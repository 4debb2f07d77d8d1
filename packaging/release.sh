#!/usr/bin/env bash
# Makes the files of a release in target/release-files: for each target a static binary in an archive and a Debian package,
# their checksums, a manifest, the installer and the Homebrew formula.
#
#   packaging/release.sh [TARGET]…    default: both targets
#   packaging/release.sh --index      only checksums, manifest, installer and formula of the files that are there
#
# FAIRWAY_REPOSITORY is the public address of the repository, such as https://github.com/OWNER/fairway. Without it the installer
# asks for --repository, and no formula is written. FAIRWAY_RELEASE_PROFILE is the Cargo profile, `artefact` by default, and
# FAIRWAY_RELEASE_FILES the directory of the files.
set -euo pipefail
cd "$(dirname "$0")/.."

repository=${FAIRWAY_REPOSITORY:-}
profile=${FAIRWAY_RELEASE_PROFILE:-artefact}
targets=("$@")
if [[ "${#targets[@]}" = 0 ]]; then
  targets=(x86_64-unknown-linux-musl aarch64-unknown-linux-musl)
fi
version=$(sed -n '/^version = "/{s/.*"\(.*\)"$/\1/p;q}' Cargo.toml)
built=target/artefact
# Where Cargo puts the programs of the profile: `dev` is quickly there, to try these scripts.
profile_directory=${profile/#dev/debug}
files=${FAIRWAY_RELEASE_FILES:-target/release-files}
pages=target/packages
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

say() { printf '== %s\n' "$*"; }

# A binary of this machine, which writes the pages and completions of every package.
own_binary() {
  local machine binary
  machine=$(uname -m)
  for binary in "${built}/${machine}"-unknown-linux-*/"${profile_directory}/fairway"; do
    if [[ -x "${binary}" ]]; then
      printf '%s\n' "${binary}"
      return
    fi
  done
  cargo build --locked --quiet >&2
  printf '%s\n' target/debug/fairway
}

build() {
  local target=$1 zig
  say "building ${target}"
  rustup target add "${target}" >/dev/null 2>&1 || true
  zig=$(packaging/zig.sh)
  # At a fixed address the program starts without writing its own pointers first: see build.rs.
  PATH="${zig}:${PATH}" CARGO_ZIGBUILD_ZIG_PATH="${zig}/python-zig" RUSTFLAGS="${RUSTFLAGS:-} -C relocation-model=static" \
    cargo zigbuild --locked --features postgres --profile "${profile}" --target "${target}" --target-dir "${built}" --bin fairway
}

archive() {
  local target=$1
  local name=fairway-${version}-${target}
  local dir=${files}/${name}
  mkdir -p "${dir}"
  cp "${built}/${target}/${profile_directory}/fairway" LICENSE README.md "${dir}/"
  cp -R "${pages}/completions" "${pages}/man" docs/reference/schemas.json "${dir}/"
  chmod -R u=rwX,go=rX "${dir}"
  tar --sort=name --mtime="@${SOURCE_DATE_EPOCH}" --owner=0 --group=0 --numeric-owner -C "${files}" -cf - "${name}" |
    gzip -9n >"${files}/${name}.tar.gz"
  rm -rf "${dir}"
}

deb() {
  local target=$1 cargo_deb
  cargo_deb=$(packaging/cargo-deb.sh)
  CARGO_TARGET_DIR="${built}" "${cargo_deb}/cargo-deb" --no-build --no-strip --quiet --profile "${profile}" --target "${target}" \
    --output "${files}/"
}

# The target of a file, by its name. A package names the architecture alone: its archive lies beside it.
target_of() {
  local machine=aarch64 archive
  case $1 in
    *x86_64* | *_amd64.deb) machine=x86_64 ;;
    *) ;;
  esac
  archive=$(cd "${files}" && printf '%s' "fairway-${version}-${machine}-"*.tar.gz)
  archive=${archive#"fairway-${version}-"}
  printf '%s' "${archive%.tar.gz}"
}

manifest() {
  local separator="" name sum size target
  printf '{\n  "name": "fairway",\n  "version": "%s",\n  "files": [' "${version}"
  while read -r sum name; do
    size=$(stat -c %s "${files}/${name}")
    target=$(target_of "${name}")
    printf '%s\n    { "name": "%s", "target": "%s", "size": %s, "sha256": "%s" }' \
      "${separator}" "${name}" "${target}" "${size}" "${sum}"
    separator=,
  done <"${files}/SHA256SUMS"
  printf '\n  ]\n}\n'
}

formula() {
  local sum_of_x86 sum_of_arm
  sum_of_x86=$(sed -n 's/  fairway-.*-x86_64-unknown-linux-musl\.tar\.gz$//p' "${files}/SHA256SUMS")
  sum_of_arm=$(sed -n 's/  fairway-.*-aarch64-unknown-linux-musl\.tar\.gz$//p' "${files}/SHA256SUMS")
  if [[ -z "${repository}" || -z "${sum_of_x86}" || -z "${sum_of_arm}" ]]; then
    say "no Homebrew formula: it needs FAIRWAY_REPOSITORY and both targets"
    return
  fi
  sed -e "s|@REPOSITORY@|${repository}|g" -e "s|@VERSION@|${version}|g" -e "s|@SHA256_X86_64@|${sum_of_x86}|g" \
    -e "s|@SHA256_AARCH64@|${sum_of_arm}|g" packaging/fairway.rb.in >"${files}/fairway.rb"
}

case ${repository} in
  "" | https://*) ;;
  *)
    printf 'error: FAIRWAY_REPOSITORY must begin with https://\n' >&2
    exit 1
    ;;
esac
if [[ "${targets[0]}" != --index ]]; then
  rm -rf "${files}"
  mkdir -p "${files}"
  for target in "${targets[@]}"; do
    build "${target}"
  done
  own=$(own_binary)
  packaging/pages.sh "${own}" "${pages}"
  for target in "${targets[@]}"; do
    say "packing ${target}"
    archive "${target}"
    deb "${target}"
  done
fi
sed "s|^default_repository=\"\"|default_repository=\"${repository}\"|" packaging/install.sh >"${files}/install.sh"
chmod +x "${files}/install.sh"
(cd "${files}" && sha256sum -- *.tar.gz *.deb >SHA256SUMS)
manifest >"${files}/manifest.json"
formula
say "files in ${files}"
ls -l "${files}"
