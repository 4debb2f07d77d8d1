-- Comments of people at a forge: the conversation of a comment on a line, and what is for people only.
ALTER TABLE review_comments ADD COLUMN thread TEXT;
ALTER TABLE pull_requests ADD COLUMN for_people TEXT NOT NULL DEFAULT '';

PRAGMA user_version = 25;
