//! Many claim at once on one server: every task goes to exactly one.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::process::Stdio;
use std::time::Duration;

use fairway_actions::App;
use fairway_actions::core::errors;
use fairway_actions::queue::task::claim::{self, ClaimRequest};
use fairway_core::config::Project;
use fairway_core::env::Env;

use super::host_at;
use crate::common::postgres_server::{self, PostgresServer};
use crate::common::reexec::{StartBarrier, errors, part, part_dir, reexec, wait_at_start_line};
use crate::common::test_project::CommandOutput;
use crate::common::{TestProject, app, soak};

const HOSTS: usize = 8;
const WORKERS: usize = 64;

/// A worker: the task of each claim, or the code of a failure.
fn work(number: &str) {
    let env = Env::from_process();
    let root = Project::discover(&env, None).unwrap().root;
    let app: App = app::app(&root, env, app::person(&format!("worker-{number}")));
    // On a busy machine the turns of 63 others may take longer than a command's usual patience.
    app.store_for_writing().unwrap().set_busy_timeout(Some(Duration::from_secs(25))).unwrap();
    wait_at_start_line();
    let mut journal = String::new();
    loop {
        match claim::claim(&app, &ClaimRequest::default(), &[]) {
            Ok(answer) => writeln!(journal, "{}", answer.ids[0]).unwrap(),
            Err(error) => {
                let code = errors::classify(&error).code;
                writeln!(journal, "{code}").unwrap();
                if code == "nothing_ready" {
                    break;
                }
            }
        }
    }
    fs::write(part_dir().join(format!("journal-{number}")), journal).unwrap();
}

pub(super) fn add_tasks(world: &TestProject, numbers: std::ops::RangeInclusive<usize>) -> CommandOutput {
    let mut lines = String::new();
    for number in numbers {
        writeln!(lines, "{{\"id\":\"S-{number}\",\"title\":\"task {number}\"}}").unwrap();
    }
    world.run_with_stdin(["--json", "task", "import", "-"], lines.as_bytes())
}

/// The workers of eight hosts, each host with a checkout of its own, on a server that keeps what it acknowledged.
#[test]
fn sixty_four_workers_on_eight_hosts_claim_each_task_once() {
    const NAME: &str = "postgres::storm::sixty_four_workers_on_eight_hosts_claim_each_task_once";
    if let Some(number) = part() {
        return work(&number);
    }
    let Some(server) = postgres_server::own() else { return };
    let world = TestProject::on_server_of_its_own(&server);
    let (server, schema) = world.on_server.as_ref().unwrap();
    let tasks = if soak::is_on() { 5_000 } else { 640 };
    add_tasks(&world, 1..=tasks).exits(0);
    let hosts: Vec<_> = (0..HOSTS).map(|_| host_at(&server.address(schema))).collect();
    for host in &hosts {
        host.real_time();
    }
    let place = world.dir().join("storm");
    let worker = |number: usize| reexec(&hosts[number % HOSTS], NAME, &number.to_string(), &place);
    let (ended, span) = StartBarrier::spawn(&place, WORKERS, worker).release();
    assert!(ended.iter().all(std::process::ExitStatus::success), "{}", errors(&place));
    let mut taken: BTreeMap<String, String> = BTreeMap::new();
    let mut shares = Vec::new();
    let mut others = Vec::new();
    for number in 0..WORKERS {
        let text = fs::read_to_string(place.join(format!("journal-{number}"))).unwrap();
        let (got, other): (Vec<_>, Vec<_>) = text.lines().partition(|line| line.starts_with("S-"));
        for task in &got {
            let before = taken.insert((*task).to_owned(), format!("worker-{number}"));
            assert_eq!(before, None, "{task} was taken twice");
        }
        shares.push(got.len());
        others.extend(other.into_iter().map(str::to_owned));
    }
    assert_eq!(others, ["nothing_ready"; WORKERS], "failures that are not 'nothing ready'");
    assert_eq!(taken.len(), tasks, "tasks that nobody got");
    let stored = server.query(schema, "SELECT task_id, claimant FROM claims WHERE ended_at IS NULL");
    let stored: BTreeMap<String, String> =
        stored.iter().map(|line| line.split_once('|').unwrap()).map(|(task, who)| (task.into(), who.into())).collect();
    assert_eq!(stored, taken, "what was acknowledged is not what is stored");
    let (fewest, most) = (shares.iter().min().unwrap(), shares.iter().max().unwrap());
    println!("{tasks} claims in {span:?}: fewest {fewest}, most {most}");
    // Writers take turns in the order of asking.
    assert!(fewest * WORKERS * 2 >= tasks, "one worker got only {fewest} tasks: {shares:?}");
}

/// Eight that take all of 300 numbers: each locks, looks for the first that is free, and takes it. Returns how many were taken
/// more than once.
fn doubles(server: &PostgresServer, schema: &str, isolation: &str, lock: &str) -> i64 {
    server.query(
        schema,
        &format!(
            "CREATE TABLE gate AS SELECT 1 AS it; CREATE TABLE taken (id int, by_whom int); \
             CREATE PROCEDURE take_all(who int) LANGUAGE plpgsql AS $$ DECLARE next int; BEGIN LOOP \
                 {lock}; \
                 SELECT min(i) INTO next FROM generate_series(1, 300) i WHERE NOT EXISTS (SELECT FROM taken WHERE id = i); \
                 EXIT WHEN next IS NULL; \
                 PERFORM pg_sleep(0.001); \
                 INSERT INTO taken VALUES (next, who); COMMIT; \
             END LOOP; END $$"
        ),
    );
    let take = |who: usize| {
        let mut psql = server.psql(schema);
        psql.arg("-c").arg(format!("SET default_transaction_isolation = '{isolation}'"));
        psql.arg("-c").arg(format!("CALL take_all({who})")).stdout(Stdio::null()).spawn().unwrap()
    };
    let workers: Vec<_> = (0..8).map(take).collect();
    for mut worker in workers {
        assert!(worker.wait().unwrap().success());
    }
    let doubles = server.query(schema, "SELECT count(*) - count(DISTINCT id) FROM taken");
    server.query(schema, "DROP TABLE gate, taken; DROP PROCEDURE take_all");
    doubles[0].parse().unwrap()
}

/// The control: without the lock, and under a snapshot that is older than the lock, tasks are taken twice.
#[test]
fn control_without_the_lock_and_under_repeatable_read_takes_tasks_twice() {
    const LOCK: &str = "PERFORM 1 FROM gate FOR UPDATE";
    let Some(world) = TestProject::on_postgres() else { return };
    let (server, schema) = world.on_server.as_ref().unwrap();
    assert_eq!(doubles(server, schema, "read committed", LOCK), 0);
    let snapshot = doubles(server, schema, "repeatable read", LOCK);
    let unlocked = doubles(server, schema, "read committed", "NULL");
    println!("control: {snapshot} taken twice under REPEATABLE READ, {unlocked} without the lock");
    assert!(snapshot > 0 && unlocked > 0, "the storm does not blow: {snapshot}, {unlocked}");
}
