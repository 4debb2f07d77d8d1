-- Where a landing pushes before its base moves, as in SQLite.
ALTER TABLE landings ADD COLUMN push_to TEXT COLLATE "C";
