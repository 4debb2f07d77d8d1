//! The scripts inside the binary. They run from a private directory that is named by the hash of their content, and are written
//! again when the file there differs.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::env::Env;
use crate::os::digest::sha256_hex;
use crate::os::files;

pub use crate::domain::session::STRUCTURED_BACKEND as STRUCTURED;

#[derive(Debug, Clone, Copy)]
pub struct BuiltIn {
    /// The backend's name.
    pub name: &'static str,
    /// Its file's name.
    pub file: &'static str,
    pub text: &'static str,
    /// The purpose and the requirements, in one line.
    pub about: &'static str,
    /// Whether the backend keeps a dot in a session's name. tmux replaces it; screen and zellij get a digest of the name.
    pub allows_points: bool,
    /// The multiplexer that the script calls.
    pub multiplexer: Option<&'static str>,
}

/// All built-in scripts that are backends.
pub const ALL: &[BuiltIn] = &[
    BuiltIn {
        name: "shell",
        file: "shell.sh",
        text: include_str!("../../session-adapters/shell.sh"),
        about: "a process of its own, output to the transcript; needs nothing",
        allows_points: true,
        multiplexer: None,
    },
    BuiltIn {
        name: STRUCTURED,
        file: "acp.sh",
        text: include_str!("../../session-adapters/acp.sh"),
        about: "an agent over the Agent Client Protocol, without a terminal; needs an agent that speaks it",
        allows_points: true,
        multiplexer: None,
    },
    BuiltIn {
        name: "tmux",
        file: "tmux.sh",
        text: include_str!("../../session-adapters/tmux.sh"),
        about: "a detached tmux session on a private server; needs tmux 3.2",
        allows_points: false,
        multiplexer: Some("tmux"),
    },
    BuiltIn {
        name: "screen",
        file: "screen.sh",
        text: include_str!("../../session-adapters/screen.sh"),
        about: "a screen of its own on a private socket; needs GNU screen and coreutils",
        allows_points: false,
        multiplexer: Some("screen"),
    },
    BuiltIn {
        name: "zellij",
        file: "zellij.sh",
        text: include_str!("../../session-adapters/zellij.sh"),
        about: "a zellij of its own on a private socket; needs zellij 0.44 and coreutils",
        allows_points: false,
        multiplexer: Some("zellij"),
    },
];

/// All built-in forge scripts.
pub const FORGES: &[BuiltIn] = &[
    BuiltIn {
        name: "github",
        file: "github.sh",
        text: include_str!("../../session-adapters/forge/github.sh"),
        about: "GitHub; needs gh 2.23 or newer, logged in",
        allows_points: false,
        multiplexer: None,
    },
    BuiltIn {
        name: "gitlab",
        file: "gitlab.sh",
        text: include_str!("../../session-adapters/forge/gitlab.sh"),
        about: "GitLab; needs glab 1.53 or newer, logged in, and jq",
        allows_points: false,
        multiplexer: None,
    },
];

/// The script that reports a provider's events. It is not a backend.
pub const PROVIDER_EVENT: BuiltIn = BuiltIn {
    name: "provider-event",
    file: "provider-event.sh",
    text: include_str!("../../session-adapters/provider-event.sh"),
    about: "hands a provider's event to fairway session event; needs nothing",
    allows_points: false,
    multiplexer: None,
};

/// Files to copy and adapt, by their paths below the directory of [`install`]: the template of a backend script, the bridges,
/// a watcher and the forge scripts. The bridges have the names of backend scripts, so they have a directory of their own.
const EXAMPLES: &[(&str, &str)] = &[
    ("minimal.sh", include_str!("../../examples/session-adapters/minimal.sh")),
    ("bridges/README.md", include_str!("../../examples/session-adapters/README.md")),
    ("bridges/launch.sh", include_str!("../../examples/session-adapters/launch.sh")),
    ("bridges/shell.sh", include_str!("../../examples/session-adapters/shell.sh")),
    ("bridges/tmux.sh", include_str!("../../examples/session-adapters/tmux.sh")),
    ("bridges/zellij.sh", include_str!("../../examples/session-adapters/zellij.sh")),
    ("forge/github.sh", include_str!("../../session-adapters/forge/github.sh")),
    ("forge/gitlab.sh", include_str!("../../session-adapters/forge/gitlab.sh")),
    ("forge/fake.py", include_str!("../../examples/forge/fake.py")),
    ("watchers/README.md", include_str!("../../examples/watchers/README.md")),
    ("watchers/codex-app-server.py", include_str!("../../examples/watchers/codex-app-server.py")),
];

pub fn find(name: &str) -> Option<&'static BuiltIn> {
    ALL.iter().find(|one| one.name == name)
}

/// Returns the built-in script that Fairway unpacks to this path, whether the file exists or not, and `None` for any other path.
pub fn at_path(path: &Path, env: &Env) -> Option<&'static BuiltIn> {
    // The name is compared first, because each path needs a digest.
    let named = ALL.iter().find(|one| path.file_name() == Some(one.file.as_ref()));
    named.filter(|one| one.path(env).as_deref() == Some(path))
}

/// Whether the file at `path` has the text of a built-in script, or was unpacked for this user by another version of Fairway.
/// `false` when the file cannot be read.
pub fn is_unpacked(path: &Path, env: &Env) -> bool {
    let Ok(bytes) = fs::read(path) else { return false };
    let is_current = ALL.iter().any(|one| one.text.as_bytes() == bytes);
    let is_in_place = || {
        let named = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        let dir = env.state_dir().map(|dir| dir.join("scripts"));
        dir.is_some_and(|dir| path.ancestors().nth(2) == Some(dir.as_path())) && named == Some(&sha256_hex(&bytes))
    };
    is_current || is_in_place()
}

impl BuiltIn {
    /// The path to which this user's copy of the script is unpacked, whether the file exists or not; `None` when there is no home
    /// directory.
    pub fn path(&self, env: &Env) -> Option<PathBuf> {
        Some(env.state_dir()?.join("scripts").join(sha256_hex(self.text.as_bytes())).join(self.file))
    }

    /// Writes the script to its [`path`](Self::path), unless the file there already has its text, and returns the path. Fails
    /// when there is no home directory.
    pub fn unpack(&self, env: &Env) -> io::Result<PathBuf> {
        let none = || io::Error::other("there is no home directory to keep scripts in; set HOME or XDG_STATE_HOME");
        let place = self.path(env).ok_or_else(none)?;
        let is_whole = fs::read(&place).is_ok_and(|found| found == self.text.as_bytes());
        for dir in place.ancestors().skip(1).take(3).collect::<Vec<_>>().into_iter().rev() {
            files::private_dir(dir)?;
        }
        if !is_whole {
            files::write_atomic(&place, self.text.as_bytes(), 0o700)?;
        }
        Ok(place)
    }
}

/// Writes the built-in backend scripts, the script that reports providers' events, and all examples to `dir`, so that users can
/// read, copy and change them. Returns the paths of the files that were written. A file that already has the right text is
/// skipped. A file with another text is kept and is an error, and the files after it are not written.
pub fn install(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut written = Vec::new();
    let scripts = ALL.iter().chain([&PROVIDER_EVENT]).map(|script| (script.file, script.text));
    for (place, text) in scripts.chain(EXAMPLES.iter().copied()) {
        let path = dir.join(place);
        match fs::read(&path) {
            Ok(found) if found == text.as_bytes() => continue,
            Ok(_) => return Err(io::Error::other(format!("{} is there and differs; it is kept", path.display()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        fs::create_dir_all(path.parent().unwrap_or(dir))?;
        files::write_atomic(&path, text.as_bytes(), if text.starts_with("#!") { 0o755 } else { 0o644 })?;
        written.push(path);
    }
    Ok(written)
}
