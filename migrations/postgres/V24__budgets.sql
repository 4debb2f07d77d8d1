-- Raised budgets, as in SQLite.
CREATE TABLE raised_budgets (
    kind    TEXT COLLATE "C" NOT NULL CHECK (kind IN ('task', 'session', 'day')),
    subject TEXT COLLATE "C" NOT NULL,
    cap     TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (kind, subject)
);
CREATE INDEX usage_turns_task ON usage_turns (task_id, at);
