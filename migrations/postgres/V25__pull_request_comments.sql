-- Comments of people at a forge, as in SQLite.
ALTER TABLE review_comments ADD COLUMN thread TEXT COLLATE "C";
ALTER TABLE pull_requests ADD COLUMN for_people TEXT COLLATE "C" NOT NULL DEFAULT '';
