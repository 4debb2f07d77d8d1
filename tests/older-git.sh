#!/usr/bin/env bash
# Prints a directory with Debian's git alone, if the git in PATH is another version; else prints nothing.
set -euo pipefail

[[ -x /usr/bin/git ]] || exit 0
debian=$(/usr/bin/git --version)
first=$(git --version)
[[ "${debian}" != "${first}" ]] || exit 0
dir=${XDG_CACHE_HOME:-${HOME}/.cache}/fairway-tests/debian-git
mkdir -p -- "${dir}"
ln -sfn /usr/bin/git "${dir}/git"
printf '%s\n' "${dir}"
