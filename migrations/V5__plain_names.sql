-- Columns by the names that the code and the documentation use.

ALTER TABLE exec_runs RENAME COLUMN keeper_pid TO supervisor_pid;
ALTER TABLE exec_runs RENAME COLUMN keeper_started TO supervisor_started;
ALTER TABLE guard_decisions RENAME COLUMN door TO entry_point;
ALTER TABLE messages RENAME COLUMN way TO channel;

PRAGMA user_version = 5;
