//! Many claim at once on one server: every task goes to exactly one.

use std::{collections::BTreeMap, fmt::Write as _, fs, process::Stdio};

use fairway::{
    actions::{
        App,
        core::errors,
        queue::task::claim::{self, ClaimRequest},
    },
    config::Project,
    env::Env,
};

use crate::common::{
    TestProject, app,
    reexec::{StartBarrier, errors, part, part_dir, reexec, wait_at_start_line},
};

const WORKERS: usize = 64;
const TASKS: usize = 320;

/// A worker: the task of each claim, or the code of a failure.
fn work(number: &str) {
    let env = Env::from_process();
    let root = Project::discover(&env, None).unwrap().root;
    let app: App = app::app(&root, env, app::person(&format!("worker-{number}")));
    app.store_for_writing().unwrap();
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

fn add_tasks(world: &TestProject, count: usize) {
    let mut lines = String::new();
    for number in 1..=count {
        writeln!(lines, "{{\"id\":\"S-{number}\",\"title\":\"task {number}\"}}").unwrap();
    }
    world.run_with_stdin(["task", "import", "-"], lines.as_bytes()).exits(0);
}

#[test]
fn sixty_four_workers_claim_each_task_once() {
    const NAME: &str = "postgres::storm::sixty_four_workers_claim_each_task_once";
    if let Some(number) = part() {
        return work(&number);
    }
    let Some(world) = TestProject::on_postgres() else { return };
    world.real_time();
    add_tasks(&world, TASKS);
    let place = world.dir().join("storm");
    let worker = |number: usize| reexec(&world, NAME, &number.to_string(), &place);
    let (ended, span) = StartBarrier::spawn(&place, WORKERS, worker).release();
    assert!(ended.iter().all(std::process::ExitStatus::success), "{}", errors(&place));
    let mut taken: BTreeMap<String, usize> = BTreeMap::new();
    let mut shares = Vec::new();
    for number in 0..WORKERS {
        let text = fs::read_to_string(place.join(format!("journal-{number}"))).unwrap();
        shares.push(text.lines().count() - 1);
        for line in text.lines() {
            *taken.entry(line.to_owned()).or_default() += 1;
        }
    }
    assert_eq!(taken.remove("nothing_ready"), Some(WORKERS), "{taken:?}");
    assert!(taken.values().all(|times| *times == 1), "taken twice: {taken:?}");
    assert_eq!(taken.len(), TASKS);
    println!("{TASKS} claims in {span:?}, fewest {:?}", shares.iter().min());
}

/// The control: without the lock of the project, each looks first and takes then.
#[test]
fn control_without_the_lock_takes_tasks_twice() {
    let Some(world) = TestProject::on_postgres() else { return };
    let (server, schema) = world.on_server.as_ref().unwrap();
    server.query(
        schema,
        "CREATE TABLE open_tasks AS SELECT i AS id, true AS is_open FROM generate_series(1, 300) i; \
         CREATE TABLE taken (id int, by_whom int); \
         CREATE PROCEDURE take_all(who int) LANGUAGE plpgsql AS $$ DECLARE next int; BEGIN LOOP \
             SELECT id INTO next FROM open_tasks WHERE is_open ORDER BY id LIMIT 1; \
             EXIT WHEN next IS NULL; \
             PERFORM pg_sleep(0.001); \
             UPDATE open_tasks SET is_open = false WHERE id = next; \
             INSERT INTO taken VALUES (next, who); COMMIT; \
         END LOOP; END $$",
    );
    let workers: Vec<_> = (0..8)
        .map(|who| {
            server.psql(schema).arg("-c").arg(format!("CALL take_all({who})")).stdout(Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut worker in workers {
        worker.wait().unwrap();
    }
    let doubles = server.query(schema, "SELECT count(*) - count(DISTINCT id) FROM taken");
    assert_ne!(doubles, ["0"], "the storm does not blow");
    server.query(schema, "DROP TABLE open_tasks, taken");
}
