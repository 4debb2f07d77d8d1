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

mkdir locales
cat >check.py <<'END'
"""Each language has exactly the keys that English has."""
import json, pathlib, sys

english = set(json.loads(pathlib.Path("locales/en.json").read_text()))
for file in sorted(pathlib.Path("locales").glob("*.json")):
    keys = set(json.loads(file.read_text()))
    if english - keys:
        sys.exit(f"{file} lacks {len(english - keys)} of the keys of English: {', '.join(sorted(english - keys))}")
    if keys - english:
        sys.exit(f"{file} has keys that English has not: {', '.join(sorted(keys - english))}")
print("the languages agree")
END
cat >locales/en.json <<'END'
{
  "cart.empty": "The cart is empty",
  "cart.pay": "Pay",
  "user.hello": "Hello"
}
END
cat >locales/de.json <<'END'
{
  "cart.empty": "Der Korb ist leer",
  "cart.pay": "Bezahlen",
  "user.hello": "Hallo"
}
END
commit 'Two languages'

branch a
cat >locales/tr.json <<'END'
{
  "cart.empty": "Sepet bos",
  "cart.pay": "Ode",
  "user.hello": "Merhaba"
}
END
commit 'Turkish'

branch b
sed -i 's/^  "user.hello"/  "cart.undo": "Undo",\n&/' locales/en.json
sed -i 's/^  "user.hello"/  "cart.undo": "Zurueck",\n&/' locales/de.json
commit 'A text for undo'
sed -i 's/^  "user.hello"/  "stock.none": "Sold out",\n&/' locales/en.json
sed -i 's/^  "user.hello"/  "stock.none": "Ausverkauft",\n&/' locales/de.json
commit 'A text for what is sold out'

branch c
sed -i 's/Der Korb/Der Warenkorb/' locales/de.json
commit 'German: the longer word'

git checkout -q main
