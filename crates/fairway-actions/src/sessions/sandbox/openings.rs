//! The parts of the machine that a sandbox shows: each path that is closed, readable or writable, with the reason.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use fairway_core::config::{SandboxSettings, sandbox_defaults};
use fairway_core::domain::id::Label;
use fairway_core::domain::rules::sandbox_command::{Mount, Shown};
use fairway_core::os::git::LaneClone;

/// Directories of the machine with files and sockets of other programs.
const SHARED_DIRS: [&str; 4] = ["/tmp", "/var/tmp", "/run", "/var/spool"];
/// The parts of `/run` that programs need.
const OF_RUN: [&str; 2] = ["/run/current-system", "/run/opengl-driver"];
/// The configuration of name lookups, whose target may be below `/run`.
const RESOLVER: &str = "/etc/resolv.conf";

/// Reasons of openings that a container or virtual machine does not need, because it has its own.
const TOOLCHAIN: &str = "programs and libraries";
const OF_PATH: &str = "a directory of PATH";
const OF_SYSTEM: &str = "programs of the system";
const NAMES: &str = "names of the network";
const SOCKETS: &str = "sockets of your programs";

/// A path inside the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    pub path: PathBuf,
    pub shown: Shown,
    /// The reason for the access.
    pub why: &'static str,
}

/// The machine and the project around a lane, as far as its sandbox must know them. Paths that do not exist are left out.
#[derive(Debug)]
pub struct Surroundings<'a> {
    pub home: Option<PathBuf>,
    /// Directories with sockets of this user's programs, and sockets elsewhere.
    pub socket_dirs: Vec<PathBuf>,
    pub sockets: Vec<PathBuf>,
    /// The directories where programs are looked up.
    pub path: Vec<PathBuf>,
    /// The directories of the project and of Fairway, which are closed inside.
    pub closed: Vec<PathBuf>,
    /// The files of a store that is outside of these directories.
    pub closed_files: Vec<PathBuf>,
    pub settings: &'a SandboxSettings,
    /// The agent whose state is open inside, and the directory that has it instead of the home.
    pub agent: Option<(&'a Label, PathBuf)>,
    /// This program's file, which is `fairway` inside, too.
    pub program: PathBuf,
    pub worktree: PathBuf,
    pub repository: Option<&'a LaneClone>,
    /// More files that can be read inside.
    pub readable: Vec<PathBuf>,
}

impl Surroundings<'_> {
    /// Lists the paths that the sandbox opens or closes. Paths that do not exist are left out. When two entries have the same
    /// path, the later one counts.
    pub fn openings(&self) -> Vec<Opening> {
        let mut all = Vec::new();
        let home = self.home.as_deref().filter(|home| home.parent().is_some());
        let mut add = |path: PathBuf, shown: fn(PathBuf) -> Shown, why| {
            if let Ok(real) = path.canonicalize() {
                all.push(Opening { shown: shown(real.clone()), path: real, why });
            }
        };
        let empty: fn(PathBuf) -> Shown = |_| Shown::Empty;
        for dir in SHARED_DIRS {
            add(dir.into(), empty, "files and sockets of other programs");
        }
        for dir in self.socket_dirs.iter().filter(|dir| dir.parent().is_some()).cloned() {
            add(dir, empty, SOCKETS);
        }
        for socket in self.sockets.iter().cloned() {
            add(socket, |_| Shown::EmptyFile, SOCKETS);
        }
        if let Some(dir) = home {
            add(dir.to_path_buf(), empty, "your home");
        }
        for dir in self.closed.iter().cloned() {
            add(dir, empty, "the project, its store and its other lanes");
        }
        let is_closed = |file: &Path| {
            let mut dirs = self.closed.iter().filter_map(|dir| dir.canonicalize().ok());
            dirs.any(|dir| file.canonicalize().is_ok_and(|file| file.starts_with(dir)))
        };
        for file in self.closed_files.iter().filter(|file| !is_closed(file)).cloned() {
            add(file, |_| Shown::EmptyFile, "the store");
        }
        for path in OF_RUN {
            add(path.into(), Shown::ReadOnly, OF_SYSTEM);
        }
        if Path::new(RESOLVER).canonicalize().is_ok_and(|file| file.starts_with("/run")) {
            add(RESOLVER.into(), Shown::ReadOnly, NAMES);
        }
        let defaults = sandbox_defaults();
        if let Some(home) = home {
            for name in &defaults.toolchains {
                add(home.join(name), Shown::ReadOnly, TOOLCHAIN);
            }
        }
        let closed: Vec<&Path> = home.into_iter().chain(self.socket_dirs.iter().map(PathBuf::as_path)).collect();
        for dir in self.path.iter().filter(|dir| closed.iter().any(|closed| dir.starts_with(closed) && dir != closed)) {
            add(dir.clone(), Shown::ReadOnly, OF_PATH);
        }
        add(self.program.clone(), Shown::ReadOnly, "this program");
        for file in self.readable.iter().cloned() {
            add(file, Shown::ReadOnly, "the hooks of the session");
        }
        let agent = self.agent.as_ref().and_then(|(name, own)| Some((defaults.state.get(name.as_str())?, own)));
        if let Some((home, (state, own))) = home.and_then(|home| home.canonicalize().ok()).zip(agent) {
            for name in state.directories.iter().chain(&state.files) {
                let shown = Shown::Writable(own.join(name));
                all.push(Opening {
                    path: home.join(name),
                    shown,
                    why: "the state of the agent, which is the lane's own",
                });
            }
            let shared = [
                (&state.read_only, Shown::ReadOnly as fn(PathBuf) -> Shown, "settings of the agent"),
                (&state.login, Shown::Writable, "the login of the agent"),
            ];
            for (names, shown, why) in shared {
                for path in names.iter().map(|name| home.join(name)) {
                    all.extend(path.canonicalize().ok().map(|real| Opening { path, shown: shown(real), why }));
                }
            }
        }
        let mut add = |path: PathBuf, shown: fn(PathBuf) -> Shown, why| {
            if let Ok(real) = path.canonicalize() {
                all.push(Opening { shown: shown(real.clone()), path: real, why });
            }
        };
        let expand = |text: &str| match (text.strip_prefix("~/"), home) {
            (Some(rest), Some(home)) => Some(home.join(rest)),
            (Some(_), None) => None,
            (None, _) => Some(PathBuf::from(text)),
        };
        for path in self.settings.readable.iter().filter_map(|text| expand(text)) {
            add(path, Shown::ReadOnly, "sandbox.readable");
        }
        for path in self.settings.writable.iter().filter_map(|text| expand(text)) {
            add(path, Shown::Writable, "sandbox.writable");
        }
        add(self.worktree.clone(), Shown::Writable, "the lane");
        if let Some(clone) = self.repository {
            for (path, real) in clone.shown_objects() {
                all.push(Opening {
                    path,
                    shown: Shown::ReadOnly(real),
                    why: "the objects of the project's repository",
                });
            }
            let own = Shown::Writable(clone.repository());
            all.push(Opening { path: clone.place.clone(), shown: own, why: "the repository of the sandbox" });
            let link = Shown::ReadOnly(clone.link());
            all.push(Opening {
                path: self.worktree.join(".git"),
                shown: link,
                why: "leads to the repository of the sandbox",
            });
        }
        all.extend(self.closed_in_lane());
        all
    }

    /// The names in the lane that the person's own programs run or read later.
    fn closed_in_lane(&self) -> Vec<Opening> {
        let mut all = Vec::new();
        let is_open = |name: &str| self.settings.lane_writable.iter().any(|open| open == name);
        let defaults = sandbox_defaults();
        let present = |path: &Path| path.symlink_metadata().ok().filter(|found| !found.is_symlink());
        for name in defaults.lane_directories.iter().filter(|name| !is_open(name)) {
            let path = self.worktree.join(name);
            let shown = match present(&path) {
                Some(_) => Shown::ReadOnly(path.clone()),
                None if path.is_symlink() => continue,
                None => Shown::EmptyReadOnly,
            };
            all.push(Opening { path, shown, why: "settings that your programs run or read later" });
        }
        let listed = fs::read_dir(&self.worktree).into_iter().flatten().flatten();
        let of_git = listed.map(|entry| entry.file_name()).filter(|name| name.as_bytes().starts_with(b".git"));
        let files = defaults.lane_files.iter().map(|name| OsStr::new(name).to_owned());
        for name in files.chain(of_git.filter(|name| name != ".git")).filter(|name| !name.to_str().is_some_and(is_open))
        {
            let path = self.worktree.join(name);
            if present(&path).is_some() {
                let shown = Shown::ReadOnly(path.clone());
                all.push(Opening { path, shown, why: "settings that your programs run or read later" });
            }
        }
        all
    }
}

/// The mounts for a container or virtual machine, parents before children. Openings to programs and libraries are left out,
/// because the container has its own, and so are closed paths.
pub fn mounts(openings: &[Opening]) -> Vec<Mount> {
    let is_own = |why: &str| [TOOLCHAIN, OF_PATH, OF_SYSTEM, NAMES].contains(&why);
    let all = openings.iter().filter(|one| !is_own(one.why));
    let found = all.filter_map(|one| match &one.shown {
        Shown::ReadOnly(source) => {
            Some((one.path.clone(), Mount { source: source.clone(), target: one.path.clone(), is_writable: false }))
        }
        Shown::Writable(source) => {
            Some((one.path.clone(), Mount { source: source.clone(), target: one.path.clone(), is_writable: true }))
        }
        Shown::Empty | Shown::EmptyReadOnly | Shown::EmptyFile => None,
    });
    // Where two name one path the later one counts.
    let found: BTreeMap<PathBuf, Mount> = found.collect();
    let mut mounts: Vec<Mount> = found.into_values().collect();
    mounts.sort_by_key(|mount| mount.target.components().count());
    mounts
}

/// Maps each path to its access. When two openings have the same path, the later one counts.
pub fn shown(openings: &[Opening]) -> BTreeMap<PathBuf, Shown> {
    openings.iter().map(|one| (one.path.clone(), one.shown.clone())).collect()
}

/// The names at the top of a lane's worktree that exist and that the person's own programs would run or read later. Empty
/// directories do not count.
pub fn later_names(worktree: &Path) -> Vec<String> {
    let defaults = sandbox_defaults();
    let names = defaults.lane_directories.into_iter().chain(defaults.lane_files);
    let found = |name: &String| {
        let path = worktree.join(name);
        // Bubblewrap leaves an empty directory where it has closed one that was not there.
        path.symlink_metadata().is_ok()
            && !(path.is_dir() && fs::read_dir(&path).is_ok_and(|mut list| list.next().is_none()))
    };
    names.filter(found).collect()
}

/// Removes the empty directories that bubblewrap has created in the lane for names that it closed.
pub fn remove_empty(worktree: &Path) {
    for name in sandbox_defaults().lane_directories {
        // Of a directory that is not empty nothing is removed.
        let _ = fs::remove_dir(worktree.join(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_the_lane_are_closed_unless_they_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let lane = dir.path().canonicalize().unwrap();
        fs::write(lane.join(".gitattributes"), "").unwrap();
        fs::write(lane.join(".envrc"), "").unwrap();
        fs::create_dir(lane.join(".vscode")).unwrap();
        let settings = SandboxSettings { lane_writable: vec![".envrc".into()], ..SandboxSettings::default() };
        let around = Surroundings {
            home: None,
            socket_dirs: Vec::new(),
            sockets: Vec::new(),
            path: Vec::new(),
            closed: Vec::new(),
            closed_files: Vec::new(),
            settings: &settings,
            agent: None,
            program: "/bin/sh".into(),
            worktree: lane.clone(),
            repository: None,
            readable: Vec::new(),
        };
        let all = shown(&around.openings());
        assert_eq!(all.get(&lane), Some(&Shown::Writable(lane.clone())));
        assert_eq!(all.get(&lane.join(".vscode")), Some(&Shown::ReadOnly(lane.join(".vscode"))));
        assert_eq!(all.get(&lane.join(".idea")), Some(&Shown::EmptyReadOnly));
        assert_eq!(all.get(&lane.join(".gitattributes")), Some(&Shown::ReadOnly(lane.join(".gitattributes"))));
        assert_eq!(all.get(&lane.join(".envrc")), None);
        assert_eq!(all.get(Path::new("/run")), Some(&Shown::Empty));
    }
}
