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

mkdir migrations
echo 'CREATE TABLE users (id INTEGER PRIMARY KEY, mail TEXT NOT NULL);' >migrations/0001_users.sql
echo 'CREATE TABLE orders (id INTEGER PRIMARY KEY, user INTEGER NOT NULL);' >migrations/0002_orders.sql
cat >check.py <<'END'
"""The migrations have the numbers 1, 2, 3 ... once each, and an empty database takes them in that order."""
import pathlib, sqlite3, sys

files = sorted(pathlib.Path("migrations").glob("*.sql"))
by_number = {}
for file in files:
    by_number.setdefault(int(file.name[:4]), []).append(file.name)
for number, names in sorted(by_number.items()):
    if len(names) > 1:
        sys.exit(f"migration number {number:04} is used {len(names)} times: {', '.join(names)}")
if sorted(by_number) != list(range(1, len(files) + 1)):
    sys.exit(f"the numbers have a gap: {sorted(by_number)}")
database = sqlite3.connect(":memory:")
for file in files:
    database.executescript(file.read_text())
print(f"{len(files)} migrations applied")
END
commit 'Users and orders'

branch a
echo 'CREATE TABLE reviews (id INTEGER PRIMARY KEY, stars INTEGER);' >migrations/0003_reviews.sql
commit 'Reviews get a table'

branch b
echo 'ALTER TABLE users ADD COLUMN quota INTEGER NOT NULL DEFAULT 10;' >migrations/0003_quota.sql
commit 'Users get a quota'
echo 'quota: how many orders a user may have open' >NOTES
commit 'Say what the quota is'

git checkout -q main
