//! Who plays in a test: sessions, lanes and a repository, put in place without the verbs that make them.

use std::{fs, path::Path};

use fairway::{
    domain::{
        Event, Kind, LaneName, Role, SessionId,
        lane::{Lane, LaneStatus},
        session::{Activity, Session, SessionStatus},
    },
    store::{Store, StoreError, lanes, sessions},
};

use super::World;

fn store(world: &World) -> Store {
    let store = world.store();
    Store::open_for_writing(&store, &store.with_file_name("runtime")).unwrap()
}

/// A running session.
pub fn session(world: &World, id: &str, role: &str, lane: Option<&str>) {
    let session = Session {
        id: SessionId::parse(id).unwrap(),
        run_id: format!("run-{id}"),
        role: Role::parse(role).unwrap(),
        lane: lane.map(|lane| LaneName::parse(lane).unwrap()),
        task: None,
        provider: None,
        backend: None,
        session_name: None,
        external_session_id: None,
        status: SessionStatus::Running,
        activity: Activity::Unknown,
        waiting_for: None,
        activity_source: None,
        activity_at: None,
        host: "host".into(),
        pid: None,
        pid_started: None,
        boot_id: None,
        socket: None,
        pane: None,
        transcript: None,
        worktree: None,
        branch: None,
        adapter_script: None,
        adapter_state: None,
        started_at: world.now(),
        last_heartbeat_at: None,
        ended_at: None,
        exit_code: None,
        reason: None,
        context_usage: None,
        version: 1,
    };
    store(world)
        .write::<_, StoreError>(world.now(), "test", |tx| {
            sessions::insert(tx, &session)?;
            tx.record(&Event::new(Kind::SessionUpserted).session(&session.id, &session.run_id)).map(drop)
        })
        .unwrap();
}

/// An open lane, with a worktree where one is given.
pub fn lane(world: &World, name: &str, wip_limit: Option<i64>, worktree: Option<&Path>) {
    let lane = Lane {
        name: LaneName::parse(name).unwrap(),
        title: None,
        role: None,
        status: LaneStatus::Open,
        branch: None,
        base: None,
        worktree: worktree.map(|path| path.to_string_lossy().into_owned()),
        wip_limit,
        provider: None,
        backend: None,
        created_at: world.now(),
    };
    store(world)
        .write::<_, StoreError>(world.now(), "test", |tx| {
            lanes::put(tx, &lane)?;
            tx.record(&Event::new(Kind::LaneAdded).lane(Some(&lane.name))).map(drop)
        })
        .unwrap();
}

/// Runs git in a folder of this world; answers with what it printed.
#[track_caller]
pub fn git(world: &World, folder: &Path, args: &[&str]) -> String {
    let mut command = world.command("git");
    // The same commits on every machine.
    for (name, value) in [("NAME", "t"), ("EMAIL", "t@example.org"), ("DATE", "2026-01-01T00:00:00Z")] {
        command.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
    }
    let done = command.args(args).current_dir(folder).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

/// Makes the project a repository with everything in it committed; answers with the commit.
#[track_caller]
pub fn repository(world: &World) -> String {
    let root = world.root();
    git(world, &root, &["init", "-q", "-b", "main"]);
    commit(world, "first")
}

/// Commits a new file of this name; answers with the commit.
#[track_caller]
pub fn commit(world: &World, name: &str) -> String {
    let root = world.root();
    fs::write(root.join(name), name).unwrap();
    git(world, &root, &["add", "."]);
    git(world, &root, &["commit", "-q", "-m", name]);
    git(world, &root, &["rev-parse", "HEAD"])
}
