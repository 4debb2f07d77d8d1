//! A power cut keeps only what was synced. Each command runs under strace; its writes and syncs are replayed, and at the
//! moment of its acknowledgement the store is rebuilt from synced bytes alone. What was acknowledged must be in it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use rusqlite::Connection;

use crate::common::TestProject;

const CUTS: usize = 100;

/// The bytes of the store's file (`""`) and of its log (`"-wal"`), by suffix.
type Files = BTreeMap<&'static str, Vec<u8>>;

/// The view of a running system, and the rest after a power cut.
struct Disk {
    live: Files,
    synced: Files,
}

impl Disk {
    /// All that is there now counts as synced.
    fn of(store: &Path) -> Self {
        let read = |suffix: &'static str| {
            let mut name = store.as_os_str().to_owned();
            name.push(suffix);
            Some((suffix, fs::read(name).ok()?))
        };
        let files: Files = ["", "-wal"].into_iter().filter_map(read).collect();
        Self { live: files.clone(), synced: files }
    }

    /// Replays one line of strace. `true` at a write to stdout.
    fn replay(&mut self, line: &str) -> bool {
        let Some((call, arguments)) = line.split_once(' ').and_then(|(_, call)| call.split_once('(')) else {
            return false;
        };
        // `unlink` has a path in quotes, everything else a descriptor with its path in angle brackets.
        let opened = arguments.split_once('<').and_then(|(number, rest)| Some((number, rest.split_once('>')?)));
        let (descriptor, path, rest) = match opened {
            Some((number, (path, rest))) => (number, path, rest),
            None => ("", arguments.split('"').nth(1).unwrap_or_default(), ""),
        };
        let path = String::from_utf8(unhex(path)).unwrap();
        let suffix = ["fairway.db-wal", "fairway.db"].into_iter().find(|name| path.ends_with(name));
        let Some(suffix) = suffix.map(|name| &name["fairway.db".len()..]) else {
            return call.trim() == "write" && descriptor == "1";
        };
        let numbers: Vec<usize> = rest
            .rsplit_once(')')
            .map_or("", |(inside, _)| inside)
            .rsplit(", ")
            .map_while(|text| text.trim_matches([',', ' ']).parse().ok())
            .collect();
        match call.trim() {
            "pwrite64" => {
                let bytes = unhex(rest.split('"').nth(1).unwrap());
                let (offset, length) = (numbers[0], numbers[1]);
                assert_eq!(bytes.len(), length, "strace has cut a write short");
                let file = self.live.entry(suffix).or_default();
                file.resize(file.len().max(offset + length), 0);
                file[offset..offset + length].copy_from_slice(&bytes);
            }
            "ftruncate" => self.live.entry(suffix).or_default().resize(numbers[0], 0),
            "fsync" | "fdatasync" => {
                let file = self.live.entry(suffix).or_default().clone();
                self.synced.insert(suffix, file);
            }
            "unlink" => {
                self.live.remove(suffix);
            }
            other => panic!("{other} on {path} is not understood"),
        }
        false
    }

    /// Whether the store that a power cut leaves here has this task.
    fn has_after_cut(&self, scratch: &Path, task: &str) -> bool {
        let store = scratch.join("fairway.db");
        for suffix in ["", "-wal", "-shm"] {
            let file = scratch.join(format!("fairway.db{suffix}"));
            let _ = fs::remove_file(&file);
            if let Some(bytes) = self.synced.get(suffix) {
                fs::write(&file, bytes).unwrap();
            }
        }
        let conn = Connection::open(store).unwrap();
        let whole: String = conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(whole, "ok");
        conn.query_row("SELECT count(*) FROM tasks WHERE id = $1", [task], |row| row.get::<_, i64>(0)).unwrap() == 1
    }
}

/// `\x41\x42` as bytes.
fn unhex(text: &str) -> Vec<u8> {
    text.split("\\x").skip(1).map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

/// Runs a command under strace and counts whether a cut at its acknowledgement loses the task.
fn is_lost(world: &TestProject, command: &Command, task: &str) -> bool {
    let log = world.dir().join("strace.log");
    let disk = &mut Disk::of(&world.store());
    let mut traced = world.command("strace");
    traced.args(["-f", "-qq", "-xx", "-y", "-s", "1000000", "-e"]);
    traced.arg("trace=write,pwrite64,ftruncate,fsync,fdatasync,unlink").arg("-o").arg(&log);
    traced.arg(command.get_program()).args(command.get_args());
    let output = traced.output().unwrap();
    assert!(output.status.success(), "{output:?}");

    let scratch = world.dir().join("cut");
    fs::create_dir_all(&scratch).unwrap();
    let mut verdicts = Vec::new();
    for line in fs::read_to_string(&log).unwrap().lines() {
        if disk.replay(line) {
            verdicts.push(!disk.has_after_cut(&scratch, task));
        }
    }
    let mut there = Disk::of(&world.store()).live;
    // A log that is only opened is made empty, without a write.
    there.retain(|_, bytes| !bytes.is_empty());
    disk.live.retain(|_, bytes| !bytes.is_empty());
    assert!(disk.live == there, "the replay has missed a write");
    *verdicts.first().expect("the command has acknowledged nothing")
}

#[test]
fn acknowledged_writes_survive_a_power_cut() {
    let world = TestProject::new();
    let lost: Vec<usize> = (1..=CUTS)
        .filter(|number| {
            let task = format!("T-{number}");
            is_lost(&world, &world.fairway(["task", "add", &task, "power"]), &task)
        })
        .collect();
    assert!(lost.is_empty(), "lost in a power cut: {lost:?}");
}

/// The control: the same insert without syncing each commit. Were the replay blind, this would lose nothing.
#[test]
fn control_without_sync_loses_tasks_in_a_power_cut() {
    let world = TestProject::new();
    let lost = (1..=10)
        .filter(|number| {
            let task = format!("X-{number}");
            let insert = format!(
                "PRAGMA synchronous = NORMAL; INSERT INTO tasks (id, title, status, priority, created_at, updated_at) \
                 VALUES ('{task}', 'power', 'todo', 2, 0, 0); \
                 INSERT INTO events (at, kind, task_id, actor, data) VALUES (0, 'task.added', '{task}', 'x', '{{}}');"
            );
            let mut command = world.command("sqlite3");
            command.arg(world.store()).arg(insert).arg(".system echo acknowledged");
            is_lost(&world, &command, &task)
        })
        .count();
    assert!(lost > 0, "the control has lost nothing: the replay sees no difference");
}
