//! Many processes come first at once.

use std::fs;

use rusqlite::Connection;

use crate::common::concurrent_start::race;
use crate::common::reexec::{StartBarrier, part, part_dir, reexec, wait_at_start_line};
use crate::common::{TestProject, soak};

#[test]
fn sixty_four_first_opens_at_once_all_succeed() {
    for round in 0..if soak::is_on() { 20 } else { 4 } {
        let world = TestProject::uninitialized();
        fs::write(world.root().join(".fairway.toml"), "").unwrap();
        let runs = race(64, |number| match number % 2 {
            0 => world.fairway(["init", "--quiet"]),
            _ => world.fairway(["task", "add", "one more", "--quiet"]),
        });
        for run in &runs {
            assert!(run.status.success(), "round {round}: {run:?}");
        }
        let mut made: Vec<String> = runs.iter().skip(1).step_by(2).map(|run| text(&run.stdout)).collect();
        made.sort_by_key(|id| (id.len(), id.clone()));
        assert_eq!(made, (1..=32).map(|number| format!("T-{number}")).collect::<Vec<_>>());
        assert!(!world.root().join(".fairway/fairway.db-draft").exists());
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

/// A first open as it is often written: look for the schema, and when it is not there, make it.
fn open_naively() {
    let file = part_dir().join("naive.db");
    wait_at_start_line();
    let open = || -> rusqlite::Result<()> {
        let conn = Connection::open(file)?;
        conn.busy_timeout(std::time::Duration::from_secs(10))?;
        conn.pragma_update(None, "journal_mode", "WAL")?;
        if conn.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))? == 0 {
            conn.execute_batch(include_str!("../../../migrations/V1__lane_queue.sql"))?;
        }
        Ok(())
    };
    open().unwrap();
}

#[test]
fn control_with_naive_open_fails_in_the_same_race() {
    const NAME: &str = "store::first_open::control_with_naive_open_fails_in_the_same_race";
    if part().is_some() {
        return open_naively();
    }
    let world = TestProject::uninitialized();
    let rounds = (0..20).take_while(|round| {
        let place = world.dir().join(format!("round-{round}"));
        let (ended, _) = StartBarrier::spawn(&place, 16, |_| reexec(&world, NAME, "opener", &place)).release();
        ended.iter().all(std::process::ExitStatus::success)
    });
    assert!(rounds.count() < 20, "the race is none");
}
