//! Finished jobs are removed when it is due, and doctor's findings about jobs.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use super::job_project::JobProject;
use crate::common::TestProject;

fn codes(place: &JobProject<'_>, words: &[&str]) -> Vec<String> {
    let found = place.run(words.iter().copied().chain(["--json"])).json();
    let found = found["findings"].as_array().unwrap().clone();
    found.iter().map(|one| one["code"].as_str().unwrap().to_owned()).filter(|code| code != "same_user").collect()
}

#[test]
fn rm_removes_finished_jobs_completely() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let done = place.spawn(["--", "echo", "x"]);
    place.wait_all_final("one");
    let on = place.spawn(["--shell", "while [ ! -e go ]; do sleep 0.02; done"]);
    place.run(["exec", "rm", &done, &on, "--json"]).refuses(4, "in_use");
    assert_eq!(place.rows().len(), 2, "all or nothing");
    place.run(["exec", "rm", "ffffffff", "--json"]).refuses(3, "not_found");
    place.run(["exec", "rm", &done, &done[28..]]).exits(0);
    assert_eq!(place.rows().len(), 1);
    assert!(!place.dir.join(".fairway/runs").join(&done).exists());
    let id = done.replace('-', "");
    let rows: i64 = place
        .output()
        .unwrap()
        .query_row("SELECT count(*) FROM exec_run_items WHERE hex(run) = upper(?1)", [&id], |row| row.get(0))
        .unwrap();
    assert_eq!(rows, 0);
    fs::write(place.dir.join("go"), "").unwrap();
    place.wait_all_final("the other");
    place.wait_no_processes("rm");
}

#[test]
fn gc_removes_the_oldest_jobs_over_each_limit() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    for number in 0..6 {
        place.spawn(["--queue", "q", "--shell", &format!("head -c {}000 /dev/zero", number + 1)]);
    }
    let rows = place.wait_all_final("six");
    place.wait_no_processes("six");
    let left = |settings: &str| {
        fs::write(place.dir.join(".fairway.toml"), format!("[exec]\n{settings}\n")).unwrap();
        let would = place.json(["exec", "gc", "--dry-run"])["removed"].as_array().unwrap().len();
        let before = place.rows().len();
        let did = place.json(["exec", "gc"]);
        assert_eq!(did["removed"].as_array().unwrap().len(), would);
        assert_eq!(place.rows().len(), before - would);
        (place.rows().len(), did["bytes"].as_u64().unwrap())
    };
    assert_eq!(left(""), (6, 0));
    // The last four have 3,000 to 6,000 bytes.
    assert_eq!(left("keep_bytes = \"18000\"").0, 4);
    assert_eq!(place.rows()[0].id, rows[2].id);
    place.store().execute("UPDATE exec_runs SET finished_at = 1000 WHERE id = ?1", [&rows[2].id]).unwrap();
    assert_eq!(left("keep_for = \"off\"").0, 4);
    assert_eq!(left("").0, 3);
    assert_eq!(fs::read_dir(place.dir.join(".fairway/runs")).unwrap().count(), 3);
    // Reconcile does it as well.
    fs::write(place.dir.join(".fairway.toml"), "[exec]\nkeep_bytes = \"6000\"\n").unwrap();
    place.run(["session", "reconcile", "--dry-run"]).exits(0);
    assert_eq!(place.rows().len(), 3);
    place.run(["session", "reconcile"]).exits(0);
    assert_eq!(place.rows().len(), 1);
    for bad in ["parallel = 0", "keep_bytes = \"much\"", "keep_for = \"long\"", "keep = 1"] {
        fs::write(place.dir.join(".fairway.toml"), format!("[exec]\n{bad}\n")).unwrap();
        place.run(["exec", "list", "--json"]).refuses(2, "config_invalid");
    }
    fs::write(place.dir.join(".fairway.toml"), "").unwrap();
}

#[test]
fn undeletable_directory_does_not_stop_gc() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let runs = [(); 3].map(|()| place.spawn(["--", "true"]));
    place.wait_all_final("three");
    place.wait_no_processes("three");
    // The files that killed supervisors left; the second one's is no file, and is not removed.
    let start = |run: &str| place.dir.join(".fairway/runs").join(run).join("start");
    fs::write(start(&runs[0]), "").unwrap();
    fs::create_dir(start(&runs[1])).unwrap();
    fs::write(start(&runs[2]), "").unwrap();
    let failed = place.run(["exec", "gc", "--json"]);
    assert!(failed.code == Some(1) && failed.stderr.contains("cannot clean up"), "{failed:?}");
    assert!(!start(&runs[0]).exists() && start(&runs[1]).exists() && !start(&runs[2]).exists());
    place.run(["exec", "rm", &runs[1]]).exits(0);
    place.run(["exec", "gc"]).exits(0);
}

#[test]
fn doctor_removes_orphaned_job_directories() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    assert_eq!(codes(&place, &["doctor"]), ["store"]);
    let gone = place.spawn(["--", "true"]);
    place.wait_all_final("one");
    place.wait_no_processes("one");
    assert_eq!(codes(&place, &["doctor"]), ["runs", "store"]);
    let runs = place.dir.join(".fairway/runs");
    fs::remove_dir_all(runs.join(&gone)).unwrap();
    let (fresh, old) = ("0193b0c0-7e6a-7a5b-8c3d-aabbccddeef0", "0193b0c0-7e6a-7a5b-8c3d-aabbccddeef1");
    for name in [fresh, old] {
        fs::create_dir(runs.join(name)).unwrap();
    }
    let before = SystemTime::now() - Duration::from_secs(600);
    File::open(runs.join(old)).unwrap().set_modified(before).unwrap();
    assert_eq!(codes(&place, &["doctor"]), ["run_folder_missing", "run_folder_left", "runs", "store"]);
    let mended = codes(&place, &["doctor", "--fix"]);
    assert!(mended.contains(&"repaired".to_owned()) && !mended.contains(&"run_folder_left".to_owned()), "{mended:?}");
    assert!(runs.join(fresh).exists() && !runs.join(old).exists());
    place.run(["exec", "rm", &gone]).exits(0);
    // The file that says where output lies.
    let output = place.dir.join(".fairway/runs.db");
    for suffix in ["-wal", "-shm"] {
        let _ = fs::remove_file(place.dir.join(format!(".fairway/runs.db{suffix}")));
    }
    fs::write(&output, "no database at all, whatever its name says").unwrap();
    assert!(codes(&place, &["doctor"]).contains(&"output_damaged".to_owned()));
}
