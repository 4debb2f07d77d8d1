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

mkdir src
cat >lint.py <<'END'
"""lint.py: each line of src against each pattern of rules.json."""
import json, pathlib, re, sys

rules = json.load(open("rules.json"))
bad = 0
for file in sorted(pathlib.Path("src").glob("*.py")):
    for number, line in enumerate(file.read_text().splitlines(), 1):
        for rule in rules:
            if re.search(rule["pattern"], line):
                print(f"{file}:{number}: {rule['name']}: {rule['say']}")
                bad += 1
sys.exit(1 if bad else 0)
END
cat >rules.json <<'END'
[
  {"name": "no-tabs", "pattern": "\t", "say": "use blanks"}
]
END
cat >src/log.py <<'END'
import sys


def log(text):
    sys.stderr.write(text + "\n")
END
cat >src/load.py <<'END'
def load(path):
    print("loading", path)
    return open(path).read()
END
commit 'A loader and a linter'

branch a
sed -i 's/^  {"name": "no-tabs".*/&,\n  {"name": "no-print", "pattern": "^ *print\\\\(", "say": "use log()"}/' rules.json
commit 'lint: no print'
printf 'from log import log\n\n\ndef load(path):\n    log(f"loading {path}")\n    return open(path).read()\n' >src/load.py
commit 'load: log instead of print'

branch b
cat >src/save.py <<'END'
def save(path, text):
    print("saving", path)
    with open(path, "w") as file:
        file.write(text)
END
commit 'Save'

branch c
sed -i 's/"say": "use blanks"/"say": "use four blanks"/' rules.json
commit 'lint: say how many blanks'

git checkout -q main
