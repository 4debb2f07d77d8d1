//! Probes that `stop` ends all processes of a session, including those that have left its process group, its session or their
//! parent, and those that ignore SIGTERM.

use std::fs;

use super::call_result::{Deviation, ProbeResult};
use super::harness::Harness;
use super::probe_session::ProbeSession;
use crate::os::process::{ProcessKey, ProcessStatus};

/// Starts a process in the session's own process group, one in a new session, and one in a new session whose parent ends. They
/// ignore SIGTERM, and each writes its pid to a file.
const TREE_SCRIPT: &str = r#"trap '' TERM HUP
sleep 299 & echo $! >"$PROBE_AT/near"
setsid sh -c 'trap "" TERM HUP; echo $$ >"$PROBE_AT/far"; sleep 299; :' </dev/null >/dev/null 2>&1 &
(setsid sh -c 'echo $$ >"$PROBE_AT/orphan"; sleep 299; :' </dev/null >/dev/null 2>&1 &)
echo $$ >"$PROBE_AT/root"
while :; do sleep 1; done"#;
const MEMBERS: [&str; 4] = ["root", "near", "far", "orphan"];

pub(super) fn run(bench: &Harness) {
    bench.probe("stop", "the whole tree is gone when it returns", || ends_whole_tree(bench));
    bench.probe("stop", "what a program left behind goes with its session, not with another's", || {
        spares_other_sessions(bench)
    });
}

/// The processes of [`TREE_SCRIPT`] by their names.
type ProcessTree = Vec<(&'static str, ProcessKey)>;

/// Starts a session with [`TREE_SCRIPT`] and waits until all of its processes run.
fn start_tree<'a>(bench: &'a Harness, tag: &str) -> Result<(ProbeSession<'a>, ProcessTree), Deviation> {
    let mut one = ProbeSession::of_shell(bench, tag, TREE_SCRIPT)?;
    let at = one.output_dir().display().to_string();
    one.config.env.get_or_insert_default().insert("PROBE_AT".to_owned(), at);
    one.call_start()?.expect_success()?;
    let process = |name: &'static str| {
        let text = fs::read_to_string(one.output_dir().join(name)).ok()?;
        Some((name, ProcessKey::of(text.trim().parse().ok()?)?))
    };
    let all = || MEMBERS.into_iter().map(process).collect::<Option<Vec<_>>>();
    let found =
        bench.wait_for("start", "a session whose program starts others", all, || "they never ran".to_owned())?;
    Ok((one, found))
}

fn alive_members(tree: &[(&'static str, ProcessKey)]) -> Vec<&'static str> {
    tree.iter().filter(|(_, key)| !matches!(key.status(), ProcessStatus::Gone(_))).map(|(name, _)| *name).collect()
}

fn ends_whole_tree(bench: &Harness) -> ProbeResult {
    let (one, tree) = start_tree(bench, "tree")?;
    one.stop()?;
    match alive_members(&tree).as_slice() {
        [] => one.expect_running(false),
        left => Err(Deviation::differs("no process of the session", left.join(", "))),
    }
}

fn spares_other_sessions(bench: &Harness) -> ProbeResult {
    let (one, first) = start_tree(bench, "grove")?;
    let (other, second) = start_tree(bench, "grove-2")?;
    one.stop()?;
    if !alive_members(&first).is_empty() {
        return Err(Deviation::differs("no process of the stopped session", alive_members(&first).join(", ")));
    }
    if alive_members(&second).len() != MEMBERS.len() {
        let alive = alive_members(&second).join(", ");
        return Err(Deviation::differs("every process of the other session", format!("only {alive}")));
    }
    other.expect_running(true)?;
    other.stop()
}
