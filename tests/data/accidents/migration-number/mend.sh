# In the checkout of the branch that came second, with the base in it: its migration takes the next number.
set -eu
mine=$(git log --diff-filter=A --format= --name-only "$1..HEAD" -- migrations | head -n 1)
git mv "$mine" "migrations/0004_${mine##*_}"
git commit -q -m 'Take the next migration number'
