//! `stop` ends everything that a session started, also what left its group, its session or its parent, and what ignores
//! TERM.

use std::fs;

use super::{
    call_result::{Seen, Wrong},
    harness::Bench,
    probe_session::Session,
};
use crate::os::process::{Presence, ProcessKey};

/// One in the session's own group, one that ignores TERM, one in a session of its own, and one whose parent is gone besides.
/// Each writes its pid.
const TREE: &str = r#"trap '' TERM HUP
sleep 299 & echo $! >"$PROBE_AT/near"
setsid sh -c 'trap "" TERM HUP; echo $$ >"$PROBE_AT/far"; sleep 299; :' </dev/null >/dev/null 2>&1 &
(setsid sh -c 'echo $$ >"$PROBE_AT/orphan"; sleep 299; :' </dev/null >/dev/null 2>&1 &)
echo $$ >"$PROBE_AT/root"
while :; do sleep 1; done"#;
const MEMBERS: [&str; 4] = ["root", "near", "far", "orphan"];

pub(super) fn look(bench: &Bench) {
    bench.probe("stop", "the whole tree is gone when it returns", || whole(bench));
    bench.probe("stop", "what a program left behind goes with its session, not with another's", || others(bench));
}

/// The processes of such a tree, by their names.
type Grown = Vec<(&'static str, ProcessKey)>;

/// A session with a tree, and its processes.
fn grown<'a>(bench: &'a Bench, tag: &str) -> Result<(Session<'a>, Grown), Wrong> {
    let mut one = Session::of_shell(bench, tag, TREE)?;
    let at = one.folder().display().to_string();
    one.config.env.get_or_insert_default().insert("PROBE_AT".to_owned(), at);
    one.called()?.ok()?;
    let process = |name: &'static str| {
        let text = fs::read_to_string(one.folder().join(name)).ok()?;
        Some((name, ProcessKey::of(text.trim().parse().ok()?)?))
    };
    let all = || MEMBERS.into_iter().map(process).collect::<Option<Vec<_>>>();
    let found = bench.comes("start", "a session whose program starts others", all, || "they never ran".to_owned())?;
    Ok((one, found))
}

fn left(tree: &[(&'static str, ProcessKey)]) -> Vec<&'static str> {
    tree.iter().filter(|(_, key)| !matches!(key.presence(), Presence::Gone(_))).map(|(name, _)| *name).collect()
}

fn whole(bench: &Bench) -> Seen {
    let (one, tree) = grown(bench, "tree")?;
    one.stop()?;
    match left(&tree).as_slice() {
        [] => one.runs(false),
        left => Err(Wrong::differs("no process of the session", left.join(", "))),
    }
}

fn others(bench: &Bench) -> Seen {
    let (one, first) = grown(bench, "grove")?;
    let (other, second) = grown(bench, "grove-2")?;
    one.stop()?;
    if !left(&first).is_empty() {
        return Err(Wrong::differs("no process of the stopped session", left(&first).join(", ")));
    }
    if left(&second).len() != MEMBERS.len() {
        let alive = left(&second).join(", ");
        return Err(Wrong::differs("every process of the other session", format!("only {alive}")));
    }
    other.runs(true)?;
    other.stop()
}
