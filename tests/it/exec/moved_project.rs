//! A project's directory that is moved, or removed, while its jobs run.

use std::fs;
use std::path::Path;
use std::time::Duration;

use fairway_actions::jobs::worker;
use fairway_core::env::Env;
use fairway_core::os::poll_until;
use fairway_core::os::process::ProcessKey;
use nix::sys::signal::Signal;

use super::job_project::{JobProject, Row, WAIT_TIMEOUT};
use crate::common::{TestProject, app};

/// A project below a directory of the world, so that it can be moved.
fn project(world: &TestProject) -> JobProject<'_> {
    world.real_time();
    // As everywhere, the user's own state does not move along.
    let home = world.dir().join("user");
    fs::create_dir_all(&home).unwrap();
    let place = JobProject { home, ..JobProject::new(world, world.dir().join("before")) };
    place.run(["init"]).exits(0);
    place
}

/// Moves a project.
fn moved<'a>(place: &JobProject<'a>) -> JobProject<'a> {
    let dir = place.world.dir().join("after");
    fs::rename(&place.dir, &dir).unwrap();
    JobProject { world: place.world, home: place.home.clone(), dir }
}

#[track_caller]
fn seen<T>(place: &JobProject<'_>, ask: impl FnMut() -> Option<T>) -> T {
    let found = poll_until::poll_until(WAIT_TIMEOUT, Duration::from_millis(10), ask);
    found.unwrap_or_else(|| panic!("never seen: {:#?}", place.rows()))
}

fn row(place: &JobProject<'_>, job: &str) -> Row {
    place.rows().into_iter().find(|row| row.id == job).unwrap()
}

/// Its command runs until there is the file `go`, which is outside the project.
fn waiting(place: &JobProject<'_>, files: &Path) -> String {
    fs::create_dir_all(files).unwrap();
    let text = "echo run >>count; echo begun; while [ ! -e go ]; do sleep 0.02; done; echo finished";
    let cwd = files.to_str().unwrap();
    let job = place.spawn(["--queue", "q", "--cwd", cwd, "--shell", text]);
    seen(place, || fs::read_to_string(files.join("count")).ok());
    job
}

fn count(files: &Path) -> usize {
    fs::read_to_string(files.join("count")).unwrap().lines().count()
}

#[test]
fn job_of_a_moved_project_is_recorded_at_the_new_path_and_its_queue_goes_on() {
    let world = TestProject::uninitialized();
    let (before, files) = (project(&world), world.dir().join("files"));
    let first = waiting(&before, &files);
    let second = before.spawn(["--queue", "q", "--cwd", files.to_str().unwrap(), "--", "echo", "second"]);
    let place = moved(&before);
    fs::write(files.join("go"), "").unwrap();
    let rows = place.wait_all_final("a moved project");
    assert!(rows.iter().all(|row| row.status == "succeeded" && row.attempt == 1), "{rows:#?}");
    assert_eq!(count(&files), 1);
    assert_eq!(place.run(["exec", "log", &first]).exits(0).stdout, "begun\nfinished\n");
    assert_eq!(place.run(["exec", "log", &second]).exits(0).stdout, "second\n");
    seen(&place, || JobProject::job_processes(&first).is_empty().then_some(()));
    assert!(!before.dir.join(".fairway").exists(), "a store was made at the old path");
}

#[test]
fn worker_that_starts_while_its_project_is_moved_makes_nothing_at_the_old_path() {
    let world = TestProject::uninitialized();
    let before = project(&world);
    let mut env = Env::from_process();
    (env.cwd, env.home) = (before.dir.clone(), Some(world.dir().join("home")));
    let app = app::app(&before.dir, env, app::person("worker"));
    moved(&before);
    assert!(worker::worker(&app, true).is_err());
    assert!(!before.dir.exists());
}

#[test]
fn job_of_a_moved_project_can_be_killed() {
    let world = TestProject::uninitialized();
    let (before, files) = (project(&world), world.dir().join("files"));
    let job = waiting(&before, &files);
    let supervisor = before.supervisor(&job).unwrap();
    let place = moved(&before);
    let killed = place.run(["exec", "kill", &job]).exits(0);
    assert!(killed.stdout.contains("canceled"), "{killed:?}");
    assert_eq!(row(&place, &job).status, "canceled");
    // The supervisor answers before it makes the snapshot of its last write.
    let left: Vec<_> = JobProject::job_processes(&job).into_iter().filter(|key| *key != supervisor).collect();
    assert!(left.is_empty(), "{left:?}");
    seen(&place, || JobProject::job_processes(&job).is_empty().then_some(()));
}

#[test]
fn job_that_has_ended_in_a_moved_project_does_not_run_again_when_its_supervisor_dies() {
    let world = TestProject::uninitialized();
    let (before, files) = (project(&world), world.dir().join("files"));
    let job = waiting(&before, &files);
    let supervisor = before.supervisor(&job).unwrap();
    // It cannot record the end: it is stopped before the move, and killed after the end is written down beside the output.
    let place = moved(&before);
    let lock = place.store();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    fs::write(files.join("go"), "").unwrap();
    seen(&place, || place.dir.join(".fairway/runs").join(&job).join("ended").exists().then_some(()));
    supervisor.signal(Signal::SIGKILL).unwrap();
    seen(&place, || ProcessKey::of(supervisor.pid).is_none_or(|now| now != supervisor).then_some(()));
    lock.execute_batch("ROLLBACK").unwrap();
    place.run(["session", "reconcile"]).exits(0);
    let row = row(&place, &job);
    assert_eq!((&*row.status, row.attempt, count(&files)), ("succeeded", 1, 1), "{row:?}");
}

#[test]
#[ignore = "it waits a minute; `just soak` runs it"]
fn supervisor_of_a_removed_project_ends() {
    let world = TestProject::uninitialized();
    let (place, files) = (project(&world), world.dir().join("files"));
    let job = waiting(&place, &files);
    let supervisor = place.supervisor(&job).unwrap();
    fs::remove_dir_all(&place.dir).unwrap();
    fs::write(files.join("go"), "").unwrap();
    let ended = poll_until::poll_until(Duration::from_secs(90), Duration::from_millis(100), || {
        ProcessKey::of(supervisor.pid).is_none_or(|now| now != supervisor).then_some(())
    });
    assert!(ended.is_some(), "it goes on without its project");
}
