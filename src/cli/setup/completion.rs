//! The completion script for the user's shell.

use std::path::{Path, PathBuf};

use clap_complete::Shell;

use fairway_core::env::{Env, vars};

/// Where the completion script for the user's shell belongs, and a note on what else the user must do to enable it. Returns
/// `None` for a shell without a known place, and when there is no home directory.
pub(super) fn place(env: &Env) -> Option<(Shell, PathBuf, Option<&'static str>)> {
    let shell = Path::new(env.var(vars::SHELL)?).file_name()?.to_str()?;
    let home = env.home.as_ref()?;
    // XDG says that a relative path is to be ignored.
    let xdg = |name: &str, default: &str| {
        let stated = env.var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        stated.unwrap_or_else(|| home.join(default))
    };
    match shell {
        "bash" => {
            let dir = xdg("XDG_DATA_HOME", ".local/share").join("bash-completion/completions");
            Some((Shell::Bash, dir.join("fairway"), None))
        }
        "fish" => Some((Shell::Fish, xdg("XDG_CONFIG_HOME", ".config").join("fish/completions/fairway.fish"), None)),
        "zsh" => {
            let note =
                "zsh finds the completions after this in ~/.zshrc: fpath+=~/.zfunc; autoload -Uz compinit; compinit";
            Some((Shell::Zsh, home.join(".zfunc/_fairway"), Some(note)))
        }
        _ => None,
    }
}
