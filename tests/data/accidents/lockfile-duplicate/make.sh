# make.sh DIR: a git repository in DIR with main and the branches of this accident.
set -eu
mkdir -p "$1"
cd "$1"
git init -q .
git symbolic-ref HEAD refs/heads/main
git config user.name dev
git config user.email dev@example.invalid
git config commit.gpgsign false
commit() { git add -A && git commit -q -m "$1"; }
branch() { git checkout -q -b "$1" main; }

cat >check.py <<'END'
"""The lock file names each package once, and has what the manifest and the packages themselves need."""
import json, sys


def once(pairs):
    seen = {}
    for key, value in pairs:
        if key in seen:
            sys.exit(f"lock.json is broken: the key {key!r} is there twice")
        seen[key] = value
    return seen


lock = json.load(open("lock.json"), object_pairs_hook=once)
need = dict(line.split() for line in open("need.txt") if line.strip())
for name, version in need.items():
    if lock.get(name, {}).get("version") != version:
        sys.exit(f"lock.json has no {name} {version}, which need.txt asks for")
for name, entry in lock.items():
    for other in entry["needs"]:
        if other not in lock:
            sys.exit(f"lock.json has no {other}, which {name} needs")
print(f"{len(lock)} packages locked")
END
cat >lock.py <<'END'
"""lock.py AFTER NAME VERSION [NEEDS...]: writes an entry behind the entry AFTER, as a resolver appends what a new package pulls in."""
import json, sys

after, name, version, *needs = sys.argv[1:]
lock = json.load(open("lock.json"))
out = {}
for key, entry in lock.items():
    out[key] = entry
    if key == after:
        out[name] = {"version": version, "needs": needs}
open("lock.json", "w").write(json.dumps(out, indent=2) + "\n")
END
for n in alpha beta gamma delta epsilon; do echo "$n 1.0"; done >need.txt
python3 - <<'END'
import json
open("lock.json", "w").write(json.dumps({n: {"version": "1.0", "needs": []} for n in "alpha beta gamma delta epsilon".split()}, indent=2) + "\n")
END
commit 'Five packages, locked'

branch a
sed -i 's/^beta 1.0$/beta 1.0\ngrid 3.0/' need.txt
python3 lock.py beta grid 3.0 units
python3 lock.py grid units 2.1
commit 'Add grid'

branch b
sed -i 's/^delta 1.0$/delta 1.0\ntable 4.2/' need.txt
python3 lock.py delta table 4.2 units
python3 lock.py table units 2.1
commit 'Add table'

branch c
sed -i 's/^beta 1.0$/beta 1.0\nglyph 0.9/' need.txt
python3 lock.py beta glyph 0.9
commit 'Add glyph'

git checkout -q main
