-- Raised budgets: caps in place of those of the configuration. The subject is a task, a session or a date.
CREATE TABLE raised_budgets (
    kind    TEXT NOT NULL CHECK (kind IN ('task', 'session', 'day')),
    subject TEXT NOT NULL,
    cap     TEXT NOT NULL,
    PRIMARY KEY (kind, subject)
) STRICT;

CREATE INDEX usage_turns_task ON usage_turns (task_id, at);

PRAGMA user_version = 24;
