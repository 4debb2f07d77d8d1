-- The server that a pane belongs to, as process and start time: a server that is started anew gives out the same pane ids.
ALTER TABLE agent_sessions ADD COLUMN server_pid INTEGER;
ALTER TABLE agent_sessions ADD COLUMN server_started INTEGER;

PRAGMA user_version = 2;
