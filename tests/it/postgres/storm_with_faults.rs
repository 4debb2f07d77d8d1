//! A storm of claims on several hosts while the server is killed and restarted and the network fails: whoever got a task has it,
//! no task has two, every answer comes in time, and the work goes on.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::time::{Duration, Instant};

use fairway_actions::IdempotencyKey;
use fairway_actions::core::errors;
use fairway_actions::queue::task::claim::{self, ClaimRequest};
use fairway_core::config::Project;
use fairway_core::env::Env;
use fairway_core::os::poll_until::poll_until;

use super::host_at;
use super::storm::add_tasks;
use crate::common::postgres_server::{self, PostgresServer};
use crate::common::reexec::{StartBarrier, errors, part, part_dir, reexec, wait_at_start_line};
use crate::common::unsteady_network::UnsteadyNetwork;
use crate::common::{TestProject, app};

const HOSTS: usize = 4;
const WORKERS: usize = 12;
/// The tasks at the beginning, and those that are added when few are left: the storm lasts as long as the faults.
const TASKS: usize = 200;
/// The claims after which the next fault comes: each one meets claims.
const STEP: usize = 40;
/// The longest answer: of a statement that a silent network never answers, and the questions about a commit.
const ANSWER_LIMIT: Duration = Duration::from_secs(45);

/// A worker of the storm: it repeats each claim under one request id until it has an answer.
fn work(number: &str) {
    let env = Env::from_process();
    let root = Project::discover(&env, None).unwrap().root;
    let actor = app::person(&format!("worker-{number}"));
    let app = app::app(&root, env, actor.clone());
    wait_at_start_line();
    let (mut journal, mut failures, mut longest) = (String::new(), String::new(), Duration::ZERO);
    'next: for claim in 0.. {
        let key = IdempotencyKey { id: format!("{number}-{claim}"), fingerprint: "claim".into() };
        let app = app.with_actor(actor.clone(), Some(key));
        let start = Instant::now();
        loop {
            assert!(start.elapsed() < 2 * ANSWER_LIMIT, "{failures}");
            let asked = Instant::now();
            let answer = claim::claim(&app, &ClaimRequest::default(), &[]);
            longest = longest.max(asked.elapsed());
            assert!(longest < ANSWER_LIMIT, "{longest:?}: {answer:?}");
            match answer {
                Ok(answer) => {
                    writeln!(journal, "{}", answer.ids[0]).unwrap();
                    continue 'next;
                }
                Err(error) => match errors::classify(&error).code {
                    "nothing_ready" if part_dir().join("enough").exists() => break 'next,
                    "nothing_ready" => std::thread::sleep(Duration::from_millis(20)),
                    code @ ("store_unreachable" | "store_busy" | "outcome_unknown") => {
                        writeln!(failures, "{code}").unwrap();
                    }
                    code => panic!("{code}: {error:#}"),
                },
            }
        }
    }
    fs::write(part_dir().join(format!("journal-{number}")), journal).unwrap();
    fs::write(part_dir().join(format!("failures-{number}")), failures).unwrap();
    fs::write(part_dir().join(format!("longest-{number}")), longest.as_millis().to_string()).unwrap();
}

/// How many claims the server has, of all workers or of those on one host.
fn claimed(server: &PostgresServer, schema: &str, host: Option<usize>) -> usize {
    let workers: Vec<_> = (0..WORKERS)
        .filter(|number| host.is_none_or(|host| number % HOSTS == host))
        .map(|n| format!("'worker-{n}'"))
        .collect();
    let query = format!("SELECT count(*) FROM claims WHERE claimant IN ({})", workers.join(", "));
    server.query(schema, &query)[0].parse().unwrap()
}

#[test]
fn storm_of_claims_survives_every_fault_of_server_and_network() {
    const NAME: &str = "postgres::storm_with_faults::storm_of_claims_survives_every_fault_of_server_and_network";
    if let Some(number) = part() {
        return work(&number);
    }
    let Some(server) = postgres_server::own() else { return };
    let world = TestProject::on_server_of_its_own(&server);
    let (server, schema) = world.on_server.as_ref().unwrap();
    add_tasks(&world, 1..=TASKS).exits(0);
    let added = Cell::new(TASKS);
    let networks: Vec<_> = (0..HOSTS).map(|_| UnsteadyNetwork::start(server.port())).collect();
    let address =
        |network: &UnsteadyNetwork| server.network_address("127.0.0.1", network.port(), schema) + "&connect_timeout=2";
    let hosts: Vec<_> = networks.iter().map(|network| host_at(&address(network))).collect();
    for host in &hosts {
        host.real_time();
    }
    let place = world.dir().join("storm");
    let worker = |number: usize| reexec(&hosts[number % HOSTS], NAME, &number.to_string(), &place);
    let barrier = StartBarrier::spawn(&place, WORKERS, worker);
    let mut spans = Vec::new();
    let ended = std::thread::scope(|scope| {
        let storm = scope.spawn(|| barrier.release().0);
        let more_than = |host: Option<usize>, goal: usize| {
            let goes_on = poll_until(2 * ANSWER_LIMIT, Duration::from_millis(10), || {
                let left = server.query(schema, "SELECT count(*) FROM tasks WHERE status = 'todo'")[0].parse::<usize>();
                if left.unwrap() < TASKS / 2 {
                    let all = added.get() + TASKS;
                    let answer = add_tasks(&world, added.get() + 1..=all);
                    // Each silent connection that gets the lock keeps it until the server ends it, one after the other.
                    if answer.code == Some(8) {
                        answer.refuses(8, "store_busy");
                    } else {
                        answer.exits(0);
                        added.set(all);
                    }
                }
                (claimed(server, schema, host) >= goal).then_some(())
            });
            assert!(goes_on.is_some(), "nobody claims on {host:?}");
        };
        let mut fault = |name: &'static str, run: &dyn Fn()| {
            let before = claimed(server, schema, None);
            more_than(None, before + STEP);
            let start = Instant::now();
            run();
            // The work goes on.
            let before = claimed(server, schema, None);
            more_than(None, before + 1);
            spans.push((name, start.elapsed()));
        };
        fault("connections ended", &|| {
            let of_workers = "application_name = 'fairway'";
            server.query(
                schema,
                &format!("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE {of_workers}"),
            );
        });
        fault("server killed", &|| server.kill_and_start());
        fault("server crashed", &|| server.crash_and_restart());
        fault("server restarted", &|| {
            server.stop("fast");
            server.start();
        });
        fault("a host cut off", &|| {
            networks[1].cut_off();
            // The others go on meanwhile.
            let before = claimed(server, schema, None);
            more_than(None, before + STEP);
            networks[1].mend();
            let before = claimed(server, schema, Some(1));
            more_than(Some(1), before + 1);
        });
        fault("all hosts cut off", &|| {
            for network in &networks {
                network.cut_off();
            }
            std::thread::sleep(Duration::from_millis(500));
            for network in &networks {
                network.mend();
            }
        });
        fault("a host delayed", &|| {
            networks[2].delay(Duration::from_millis(200));
            let before = claimed(server, schema, Some(2));
            more_than(Some(2), before + 2);
            networks[2].delay(Duration::ZERO);
        });
        fault("a host's connections half open", &|| {
            networks[3].half_open();
            let before = claimed(server, schema, Some(3));
            more_than(Some(3), before + 1);
        });
        fs::write(place.join("enough"), "").unwrap();
        storm.join().unwrap()
    });
    assert!(ended.iter().all(std::process::ExitStatus::success), "{}", errors(&place));
    let (mut acknowledged, mut failures, mut longest) = (BTreeMap::new(), 0, 0);
    for number in 0..WORKERS {
        let read = |name: &str| fs::read_to_string(place.join(format!("{name}-{number}"))).unwrap();
        for task in read("journal").lines() {
            let before = acknowledged.insert(task.to_owned(), format!("worker-{number}"));
            assert_eq!(before, None, "{task} was given out twice");
        }
        failures += read("failures").lines().count();
        longest = longest.max(read("longest").parse::<u64>().unwrap());
    }
    let claims = server.query(schema, "SELECT task_id, claimant FROM claims");
    let stored: BTreeMap<_, _> =
        claims.iter().map(|line| line.split_once('|').unwrap()).map(|(task, who)| (task.into(), who.into())).collect();
    let tasks = added.get();
    assert_eq!(claims.len(), tasks, "a task has two claims, or none");
    assert_eq!(acknowledged, stored);
    println!("{tasks} claims, {failures} answers that were failures, the longest answer {longest} ms, {spans:?}");
}
