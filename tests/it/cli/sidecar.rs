//! `fairway sidecar`

use crate::common::TestProject;

#[test]
fn sidecar_ends_with_its_session() {
    let world = TestProject::new();
    insta::assert_snapshot!(world.transcript(&[
        "fairway session upsert --id s1 --role worker --provider acme --status stale",
        "fairway sidecar --session s1",
        "fairway sidecar --session s1 --json",
        "fairway session list",
        "fairway session end s1",
        "fairway sidecar --session s1",
        "fairway sidecar",
        "fairway sidecar --session s2",
        "fairway session upsert --id s3 --role worker --provider acme --status stale",
        "fairway sidecar --session s3 --transcript record.jsonl",
    ]), @r#"
    $ fairway session upsert --id s1 --role worker --provider acme --status stale
    new session s1: stale
    $ fairway sidecar --session s1
    s1: the session is stale
    $ fairway sidecar --session s1 --json
    {"session_id":"s1","reason":"the session is stale","turns":0}
    $ fairway session list
    ID  STATUS  ACTIVITY  ROLE    LANE  HOLDS  PROVIDER  SEEN  DOING
    s1  stale   -         worker  -     -      acme      3s    -
    $ fairway session end s1
    s1 has ended
    $ fairway sidecar --session s1
    error: the session s1 has ended and cannot be changed
    hint: a new launch is a new session: fairway start TASK
    [exit 4]
    $ fairway sidecar
    error: whose sidecar? name a session: --session ID
    [exit 2]
    $ fairway sidecar --session s2
    error: there is no session 's2'
    hint: list the sessions: fairway session list --all
    [exit 3]
    $ fairway session upsert --id s3 --role worker --provider acme --status stale
    new session s3: stale
    $ fairway sidecar --session s3 --transcript record.jsonl
    error: --provider is missing: must be one of claude, codex, gemini
    [exit 2]
    "#);
}
