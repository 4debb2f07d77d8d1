//! Judges pairs of commits as `fairway overlap` does: git's merge in a repository of its own, then the changed lines.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use fairway_actions::land::overlap::snapshot_paths;
use fairway_core::domain::overlap::SnapshotPath;
use fairway_core::domain::rules::overlap::{adjacent_files, may_collide};
use fairway_core::os::git::{Git, MergeOutcome, MergeRepository};
use tempfile::TempDir;

use super::features::Import;

/// A repository with imported commits.
pub struct Radar {
    dir: TempDir,
    vars: BTreeMap<OsString, OsString>,
    /// The commit of each mark.
    commits: BTreeMap<usize, String>,
}

/// The judgement on a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Said {
    pub conflict: bool,
    /// Without what is adjacent in a list only, of which sessions are not told.
    pub adjacent: bool,
}

impl Said {
    /// Whether it is a warning.
    pub fn warns(self) -> bool {
        self.conflict || self.adjacent
    }
}

impl Radar {
    /// A repository with the commits of this stream.
    pub fn import(stream: Import) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let home = dir.path().to_owned();
        let git = |args: &[&str], stdin: &str| {
            let mut command = Command::new("git");
            command.args(args).current_dir(&home).env("HOME", &home).env("GIT_CONFIG_NOSYSTEM", "1");
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn().expect("git");
            child.stdin.take().expect("stdin").write_all(stdin.as_bytes()).expect("git reads");
            let done = child.wait_with_output().expect("git ends");
            assert!(done.status.success(), "{args:?}");
        };
        git(&["init", "-q", "--bare", "."], "");
        git(&["fast-import", "--quiet", "--done", "--export-marks=marks"], &stream.into_text());
        let text = std::fs::read_to_string(home.join("marks")).expect("the marks");
        let mark = |line: &str| {
            let (mark, id) = line.trim_start_matches(':').split_once(' ')?;
            Some((mark.parse().ok()?, id.to_owned()))
        };
        let path = std::env::var_os("PATH").unwrap_or_default();
        let vars = [(OsString::from("PATH"), path), (OsString::from("HOME"), home.clone().into())].into();
        Self { dir, vars, commits: text.lines().filter_map(mark).collect() }
    }

    /// The judgement on each pair of marks, which both came from the first one of the three.
    pub fn judge(&self, pairs: &[(usize, usize, usize)]) -> Vec<Said> {
        let git = Git::new(&self.vars, self.dir.path());
        let repository = MergeRepository::open(&git, &self.dir.path().join("state")).expect("a merge repository");
        let commits: Vec<(String, String)> =
            pairs.iter().map(|(_, one, other)| (self.commits[one].clone(), self.commits[other].clone())).collect();
        let outcomes = repository.merge_all(&commits, Duration::from_secs(600)).expect("merges");
        let mut changed: BTreeMap<usize, Vec<SnapshotPath>> = BTreeMap::new();
        for (base, one, other) in pairs {
            for mark in [one, other] {
                changed.entry(*mark).or_insert_with(|| {
                    let found = repository.changed_paths(&self.commits[base], &self.commits[mark]);
                    snapshot_paths(found.expect("a comparison"), &[])
                });
            }
        }
        let said = |((_, one, other), outcome): (&(usize, usize, usize), &MergeOutcome)| {
            let (one, other) = (&changed[one], &changed[other]);
            let conflict = matches!(outcome, MergeOutcome::Conflict { .. });
            // A pair that is not looked at must not conflict.
            assert!(!conflict || may_collide(one, other));
            Said { conflict, adjacent: adjacent_files(one, other).iter().any(|file| !file.in_list) }
        };
        pairs.iter().zip(&outcomes).map(said).collect()
    }
}

/// Right and wrong warnings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Score {
    pub hits: usize,
    pub false_alarms: usize,
    pub missed: usize,
    pub quiet: usize,
}

impl Score {
    /// Counts one warning, or none.
    pub fn add(&mut self, warned: bool, truth: bool) {
        *match (warned, truth) {
            (true, true) => &mut self.hits,
            (true, false) => &mut self.false_alarms,
            (false, true) => &mut self.missed,
            (false, false) => &mut self.quiet,
        } += 1;
    }

    /// The share of the warnings that are right.
    pub fn precision(self) -> f64 {
        ratio(self.hits, self.hits + self.false_alarms)
    }

    /// The share of the conflicts that are warned of.
    pub fn recall(self) -> f64 {
        ratio(self.hits, self.hits + self.missed)
    }
}

/// A share; 1 of nothing.
pub fn ratio(part: usize, whole: usize) -> f64 {
    let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    if whole == 0 { 1.0 } else { number(part) / number(whole) }
}
