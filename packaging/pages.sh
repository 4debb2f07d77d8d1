#!/usr/bin/env bash
# Writes completions and manual pages of a Fairway binary: `packaging/pages.sh BINARY DIR`.
set -euo pipefail

binary=$1
dir=$2

rm -rf -- "${dir}/completions" "${dir}/man"
mkdir -p -- "${dir}/completions" "${dir}/man"
"${binary}" completions bash >"${dir}/completions/fairway.bash"
"${binary}" completions zsh >"${dir}/completions/_fairway"
"${binary}" completions fish >"${dir}/completions/fairway.fish"
"${binary}" man --output "${dir}/man" >/dev/null
