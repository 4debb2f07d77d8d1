//! The look of readers at many sessions: it starts no process.

use std::fs::{self, File};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{Sessions, text};

/// So many sessions are looked at.
const SESSIONS: usize = 200;

/// What Claude Code shows after an interruption, for as long as nobody types.
const INTERRUPTED: &str = "  Interrupted · What should Claude do instead?\n> \n";

/// A backend that counts its calls.
const BACKEND: &str = "#!/bin/sh
echo \"$1\" >>\"${0%/*}/calls\"
case $1 in
is-running) echo true ;;
start | stop | interrupt | nudge) ;;
*) exit 2 ;;
esac
";

/// The trust question that a launch saw and the end of an interrupted turn are facts of every reader. Reading them calls no
/// backend and no other program, however many sessions there are.
#[test]
fn look_of_a_reader_at_many_sessions_starts_no_process() {
    let mut world = Sessions::new();
    let backend = format!("exec:{}", world.script("backend", BACKEND).display());
    world.launch(&["--role", "r", "--backend", &backend, "--provider", "claude", "--name", "m", "--", "true"]);
    let transcript = world.dir().join("screen.log");
    fs::write(&transcript, INTERRUPTED).unwrap();
    let minute_ago = SystemTime::now() - Duration::from_secs(60);
    File::options().write(true).open(&transcript).unwrap().set_modified(minute_ago).unwrap();
    let (path, at) = (transcript.display(), minute_ago.duration_since(UNIX_EPOCH).unwrap().as_millis());
    let busy = "activity = 'busy', waiting_for = NULL, activity_source = 'hook'";
    world.write_rows(&format!("UPDATE agent_sessions SET {busy}, activity_at = {at}, transcript = '{path}'"));
    let columns: Vec<String> = world.session("m").keys().cloned().collect();
    let copied: Vec<&str> =
        columns.iter().map(String::as_str).filter(|name| !["id", "run_id"].contains(name)).collect();
    let copied = copied.join(", ");
    world.write_rows(&format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {SESSIONS} - 1)
         INSERT INTO agent_sessions (id, run_id, {copied}) SELECT 'm-' || i, 'run-' || i, {copied} FROM n, agent_sessions WHERE id = 'm';
         DELETE FROM session_reports;
         INSERT INTO session_reports (session_id, hooked_at) SELECT id, {at} FROM agent_sessions"
    ));
    fs::create_dir(world.dir().join("only")).unwrap();
    // Each program that is found by its name says that it was called.
    let calls = world.dir().join("calls");
    for name in ["git", "tmux", "screen", "zellij", "sh", "ps"] {
        world.script(&format!("only/{name}"), &format!("#!/bin/sh\necho {name} >>'{}'\n", calls.display()));
    }
    let path = world.dir().join("only");
    world.set("PATH", &path);
    fs::write(&calls, "").unwrap();
    for words in [&["status"][..], &["session", "list"]] {
        let shown = world.json(words.iter().copied());
        let sessions = shown.get("sessions").unwrap_or(&shown).as_array().unwrap();
        let idle = sessions.iter().filter(|one| text(&one["activity"]) == "idle").count();
        assert_eq!((sessions.len(), idle), (SESSIONS, SESSIONS), "{words:?}");
    }
    assert_eq!(fs::read_to_string(&calls).unwrap(), "");
    crate::common::fixtures::discard_store(&world);
}
