-- The state of each item of "needs you" at each sink, so that several senders send it once. A row goes when its item is gone.
-- `retry_at`: when another attempt may be made, after a failure or after a sender died with the item claimed.
CREATE TABLE notifications (
    item      TEXT    NOT NULL,
    sink      TEXT    NOT NULL,
    state     TEXT    NOT NULL CHECK (state IN ('held', 'claimed', 'retry', 'sent', 'failed')),
    attempts  INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    at        INTEGER NOT NULL,
    retry_at  INTEGER,
    error     TEXT,
    PRIMARY KEY (item, sink),
    CHECK ((state IN ('claimed', 'retry')) = (retry_at IS NOT NULL))
) STRICT, WITHOUT ROWID;

PRAGMA user_version = 8;
