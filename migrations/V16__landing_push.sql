-- Where a landing pushes before its base moves, such as `origin/main`. An interrupted one with such a place may have landed there.
ALTER TABLE landings ADD COLUMN push_to TEXT;

PRAGMA user_version = 16;
