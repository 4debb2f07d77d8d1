-- Hosts: which machine a lane's worktree is on, as in SQLite.
ALTER TABLE lanes ADD COLUMN host TEXT COLLATE "C";
ALTER TABLE lanes ADD COLUMN host_id TEXT COLLATE "C";
-- In whose repository a landing is made.
ALTER TABLE landings ADD COLUMN host TEXT COLLATE "C";
ALTER TABLE landings ADD COLUMN host_id TEXT COLLATE "C";

-- The machines that write to this store; a store in a file has one, and no table. `root`: of the host's checkout. `boot_id`: of the
-- boot that wrote last. `earlier_boots`: those before it, as a JSON array; one of them that writes again is another machine with the
-- same id.
CREATE TABLE hosts (
    id            TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name          TEXT COLLATE "C" NOT NULL,
    root          TEXT COLLATE "C" NOT NULL,
    version       TEXT COLLATE "C" NOT NULL,
    boot_id       TEXT COLLATE "C" NOT NULL,
    earlier_boots TEXT COLLATE "C" NOT NULL DEFAULT '[]',
    first_seen    BIGINT           NOT NULL,
    last_seen     BIGINT           NOT NULL
);
