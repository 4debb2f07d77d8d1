//! `kill -9` at every call of a spawn and of a supervisor: there is no child that is on no record, what is shown is true,
//! what must not run twice never does, and a repeat of the same request has one effect.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use fairway_core::domain::job::JobId;
use fairway_core::os::lock::InheritableLock;
use fairway_core::supervisor::JobDir;
use fairway_core::supervisor::job_dir::StartSpec;
use rusqlite::Connection;

use super::job_project::{JobProject, job_dirs_without_row};
use crate::common::TestProject;
use crate::common::reexec::{part, part_dir, reexec};
use crate::common::test_project::CommandOutput;
use crate::storm::strace::{self, Point, Reach};

/// The command: it says in a file that it ran, and prints something.
const COMMAND: &str = "echo ran >>ran; echo out; sleep 0.02";

/// How many points of each line the quick set takes; the soak's share is as that of the storms.
const QUICK: usize = 30;

fn wanted(all: usize) -> usize {
    let soak = std::env::var("FAIRWAY_SOAK").ok().and_then(|count| count.parse::<usize>().ok());
    soak.map_or(QUICK, |soak| soak / 4).min(all)
}

/// The results of the points.
#[derive(Debug, Default)]
struct Tally {
    points: AtomicUsize,
    killed: AtomicUsize,
    acknowledged: AtomicUsize,
    /// Of those killed, how many had run their command by then.
    ran: AtomicUsize,
}

/// Kills at evenly chosen points, two at a time.
fn everywhere(
    name: &str,
    world: &TestProject,
    all: &[Point],
    kill: impl Fn(&JobProject<'_>, &Point, &Tally) + Sync,
) -> Tally {
    let (begun, wanted, tally) = (Instant::now(), wanted(all.len()), Tally::default());
    let next = Mutex::new((0..wanted).map(|number| (number, &all[number * (all.len() - 1) / (wanted - 1)])));
    let one = || {
        loop {
            let Some((number, point)) = next.lock().unwrap().next() else { return };
            let place = JobProject::new(world, world.dir().join(format!("{name}-{number}")));
            kill(&place, point, &tally);
            tally.points.fetch_add(1, Relaxed);
            fs::remove_dir_all(&place.dir).unwrap();
        }
    };
    thread::scope(|scope| {
        let workers = [scope.spawn(one), scope.spawn(one)];
        for worker in workers {
            worker.join().unwrap();
        }
    });
    println!("{name}: {wanted} of {} calls in {:?}: {tally:?}", all.len(), begun.elapsed());
    tally
}

/// The words that are killed and repeated.
fn spawning(place: &JobProject<'_>, policy: &str) -> Command {
    place.fairway(["exec", "spawn", "--json", "--request-id", "R-1", "--recovery", policy, "--shell", COMMAND])
}

/// After whatever was killed: lets reconcile and time do theirs, and looks whether all is well.
fn settled(place: &JobProject<'_>, about: &str) {
    // A process that the killed one started may still be taking the run over.
    let rows =
        fairway_core::os::poll_until::poll_until(super::job_project::WAIT_TIMEOUT, Duration::from_millis(100), || {
            place.run(["session", "reconcile"]).exits(0);
            let rows = place.rows();
            rows.iter().all(super::job_project::Row::is_final).then_some(rows)
        });
    let rows = rows.unwrap_or_else(|| panic!("{about}: never settled: {:?}, {:?}", place.rows(), place.processes()));
    place.wait_no_processes(about);
    place.assert_stores_valid();
    let ran = place.count("ran", "ran");
    for row in &rows {
        match (&*row.status, &*row.recovery) {
            ("succeeded", "lost") => assert_eq!(ran, 1, "{about}: {row:?}"),
            ("lost", "lost") => assert!(ran <= 1, "{about}: ran {ran} times: {row:?}"),
            ("succeeded", "requeue") => assert!((1..=row.attempt).contains(&ran), "{about}: ran {ran} times: {row:?}"),
            _ => panic!("{about}: {row:?}"),
        }
    }
    // No environment is left lying about, nor a folder that nobody knows; the young may be just being made.
    for name in job_dirs_without_row(place) {
        let folder = File::open(place.dir.join(".fairway/runs").join(name)).unwrap();
        folder.set_modified(SystemTime::now() - Duration::from_secs(120)).unwrap();
    }
    place.run(["exec", "gc"]).exits(0);
    assert_eq!(job_dirs_without_row(place), Vec::<String>::new(), "{about}: folders of no run");
    for row in &rows {
        let start = place.dir.join(".fairway/runs").join(&row.id).join("start");
        assert!(!start.exists(), "{about}: its environment is still there: {row:?}");
    }
}

fn kill_spawn(place: &JobProject<'_>, policy: &str, point: &Point, tally: &Tally) {
    let about = format!("spawn, {policy}, killed at {point:?}");
    place.run(["init", "--quiet"]).exits(0);
    let run = strace::killed_at(place.world, &place.dir, Reach::Process, &spawning(place, policy), point);
    let acknowledged = run.stdout.ends_with('\n');
    assert!(place.rows().len() <= 1, "{about}: {:?}", place.rows());
    assert!(!acknowledged || place.rows().len() == 1, "{about}: acknowledged and lost: {run:?}");
    place.run(["session", "reconcile"]).exits(0);

    let retry = CommandOutput::from(spawning(place, policy).output().unwrap()).exits(0);
    let rows = place.rows();
    assert_eq!(rows.len(), 1, "{about}: {rows:?}");
    assert_eq!(retry.json()["run_id"], *rows[0].id, "{about}: {retry:?}");
    assert!(!acknowledged || run.stdout == retry.stdout, "{about}: another answer: {run:?}, {retry:?}");

    settled(place, &about);
    // Whoever asks is killed, not the one who looks after the run: it must come to its end, and run once.
    let row = place.rows().remove(0);
    assert_eq!((&*row.status, place.count("ran", "ran")), ("succeeded", 1), "{about}: {row:?}");
    assert_eq!(place.log(&row.id, "stdout"), "out\n", "{about}");
    tally.killed.fetch_add(usize::from(run.code.is_none()), Relaxed);
    tally.acknowledged.fetch_add(usize::from(acknowledged), Relaxed);
}

fn spawn_points(world: &TestProject, policy: &str) -> Vec<Point> {
    let place = JobProject::new(world, world.dir().join(format!("spawn-{policy}")));
    place.run(["init", "--quiet"]).exits(0);
    let all = strace::points(world, &place.dir, Reach::Process, &spawning(&place, policy), ".fairway.toml");
    settled(&place, "spawn, not killed");
    all
}

#[test]
fn killed_spawn_leaves_no_unrecorded_child() {
    if !strace::is_possible() {
        return;
    }
    let world = TestProject::uninitialized();
    world.real_time();
    let (mut points, mut killed, mut acknowledged) = (0, 0, 0);
    for policy in ["lost", "requeue"] {
        let all = spawn_points(&world, policy);
        let name = format!("spawn, {policy}");
        let tally = everywhere(&name, &world, &all, |place, point, tally| kill_spawn(place, policy, point, tally));
        points += tally.points.into_inner();
        killed += tally.killed.into_inner();
        acknowledged += tally.acknowledged.into_inner();
    }
    assert!(points >= 2 * QUICK && killed * 10 >= points * 9, "only {killed} of {points} were killed");
    assert!(acknowledged > 0, "no point lies behind the acknowledgement");
}

/// A run that somebody has taken and whose supervisor does not live yet, as a spawn leaves it at that moment; its lock.
fn taken(place: &JobProject<'_>, policy: &str) -> (String, File) {
    place.run(["init", "--quiet"]).exits(0);
    let run = place.spawn(["--queue", "", "--recovery", policy, "--shell", COMMAND]);
    place.wait_all_final("the template");
    place.wait_no_processes("the template");
    let conn = place.store();
    let own = i64::from(std::process::id());
    conn.execute_batch(&format!(
        "BEGIN IMMEDIATE;
         UPDATE exec_runs SET status = 'starting', supervisor_pid = {own}, supervisor_started = 1, pid = NULL, pid_started = NULL,
             exit_code = NULL, started_at = NULL, finished_at = NULL, output_bytes = 0 WHERE id = '{run}';
         DELETE FROM events WHERE kind IN ('exec.started', 'exec.finished');
         COMMIT;"
    ))
    .unwrap();
    place.output().unwrap().execute_batch("DELETE FROM exec_run_items; DELETE FROM exec_outputs;").unwrap();
    fs::remove_file(place.dir.join("ran")).unwrap();
    let folder = JobDir::of(&place.dir.join(".fairway/runs"), &JobId::parse(&run).unwrap());
    folder.remove().unwrap();
    let words = ["/bin/sh", "-c", COMMAND].map(Into::into).to_vec();
    let env = [("PATH", "/usr/bin:/bin"), ("FAIRWAY_EXEC_RUN", &run)].map(|(name, value)| (name.into(), value.into()));
    folder.create(&StartSpec { cwd: place.dir.clone(), argv: words, env: env.to_vec() }, None).unwrap();
    (run, folder.try_lock().unwrap().map(InheritableLock::into_file).unwrap())
}

fn supervising(place: &JobProject<'_>, run: &str) -> Command {
    let mut command = place.fairway(["--root", place.dir.to_str().unwrap(), "exec", "supervise", run]);
    command.env("FAIRWAY_EXEC_RUN", run);
    command
}

fn kill_supervisor(place: &JobProject<'_>, policy: &str, point: &Point, tally: &Tally) {
    let about = format!("supervisor, {policy}, killed at {point:?}");
    let (run, lock) = taken(place, policy);
    let command = supervising(place, &run);
    let mut killing = strace::killing(place.world, &place.dir, Reach::Process, &command, point);
    let code = killing.env("FAIRWAY_EXEC_RUN", &run).stdin(Stdio::from(lock)).output().unwrap().status.code();
    // It has the lock, too.
    drop(killing);
    let row = place.rows().remove(0);
    // A command that is on no record must never have begun.
    if row.status == "starting" {
        assert_eq!(place.count("ran", "ran"), 0, "{about}: it ran and is on no record: {row:?}");
    }
    let shown = place.json(["exec", "poll", &run]);
    assert!(row.is_final() || shown["supervised"] == false, "{about}: {shown:#}");
    tally.killed.fetch_add(usize::from(code.is_none()), Relaxed);
    tally.ran.fetch_add(usize::from(place.count("ran", "ran") > 0), Relaxed);

    settled(place, &about);
    let row = place.rows().remove(0);
    assert!(row.status == "succeeded" || policy == "lost", "{about}: {row:?}");
}

#[test]
fn killed_supervisor_leaves_a_true_record() {
    if !strace::is_possible() {
        return;
    }
    let world = TestProject::uninitialized();
    world.real_time();
    let (mut points, mut killed, mut ran) = (0, 0, 0);
    for policy in ["lost", "requeue"] {
        let place = JobProject::new(&world, world.dir().join(format!("supervisor-{policy}")));
        let (run, lock) = taken(&place, policy);
        let command = supervising(&place, &run);
        let mut listing = strace::listing(&world, &place.dir, Reach::Process, &command);
        let listed = listing.env("FAIRWAY_EXEC_RUN", &run).stdin(Stdio::from(lock)).output().unwrap();
        assert!(listed.status.success(), "{listed:?}");
        drop(listing);
        let all = strace::listed(&place.dir, ".fairway.toml");
        settled(&place, "supervisor, not killed");
        let name = format!("supervisor, {policy}");
        let tally = everywhere(&name, &world, &all, |place, point, tally| kill_supervisor(place, policy, point, tally));
        points += tally.points.into_inner();
        killed += tally.killed.into_inner();
        ran += tally.ran.into_inner();
    }
    assert!(points >= 2 * QUICK && killed * 10 >= points * 8, "only {killed} of {points} were killed");
    assert!(ran > 0 && ran < points, "{ran} of {points} had begun: no point lies before it, or none after");
}

/// A supervisor that lets its command begin before that is on record.
fn begin_before_the_record() {
    let conn = Connection::open(part_dir().join("early.db")).unwrap();
    let child = Command::new("/bin/sh").args(["-c", "echo ran >>ran"]).current_dir(part_dir()).spawn();
    conn.execute("INSERT INTO begun VALUES (?1)", [child.unwrap().id()]).unwrap();
}

#[test]
fn control_that_starts_before_recording_leaves_a_child() {
    const NAME: &str = "exec::kill_points::control_that_starts_before_recording_leaves_a_child";
    if part().is_some() {
        return begin_before_the_record();
    }
    if !strace::is_possible() {
        return;
    }
    let world = TestProject::uninitialized();
    let early = |place: &Path| Connection::open(place.join("early.db")).unwrap();
    let template = world.dir().join("template");
    fs::create_dir(&template).unwrap();
    early(&template).execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE begun (pid)").unwrap();
    let all = strace::copy(&template, &world.dir().join("all"));
    let points = strace::points(&world, &all, Reach::Tree, &reexec(&world, NAME, "early", &all), "early.db");
    let mut off = 0;
    for (number, point) in
        points.iter().enumerate().filter(|(_, point)| ["pwrite64", "fdatasync"].contains(&&*point.call))
    {
        let place = strace::copy(&template, &world.dir().join(format!("point-{number}")));
        strace::killed_at(&world, &place, Reach::Tree, &reexec(&world, NAME, "early", &place), point);
        let recorded: i64 = early(&place).query_row("SELECT count(*) FROM begun", [], |row| row.get(0)).unwrap();
        let ran = fairway_core::os::poll_until::poll_until(Duration::from_secs(2), Duration::from_millis(20), || {
            place.join("ran").exists().then_some(())
        });
        off += i32::from(ran.is_some() && recorded == 0);
    }
    assert!(off > 0, "no child was left off the record at {} points", points.len());
}
