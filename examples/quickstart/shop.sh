#!/bin/sh
# Makes a small shop in a repository without commits, and puts scripted agents into DIR, which belongs in PATH. Usage: shop.sh DIR
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cat >cart.awk <<'AWK'
{ sum += $2 } END { print sum }
AWK
cat >check.sh <<'SH'
total=$(printf 'pen 2 3\nink 5 1\n' | awk -f cart.awk)
test "${total%% *}" = 11 || { echo "the total is $total, not 11"; exit 1; }
echo "the total is $total"
SH
git add cart.awk check.sh
git commit --quiet --message "a shop"
mkdir -p "$1" "${HOME}/.codex"
for agent in claude codex; do
  cp "${here}/${agent}.sh" "$1/${agent}"
  chmod +x "$1/${agent}"
done
