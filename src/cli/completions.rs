//! `fairway completions`

use anyhow::Result;
use clap_complete::Shell;
use serde_json::json;

use super::{context::Context, exit::Exit};

/// Asks for values first; where there are none, the script of flags and commands goes on.
const BASH: &str = r#"
_fairway_values() {
    local IFS=$'\n'
    COMPREPLY=($("$1" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
    if [ "${#COMPREPLY[@]}" -eq 0 ]; then
        unset IFS
        _fairway "$@"
    fi
}
complete -F _fairway_values -o bashdefault -o default fairway
"#;

const ZSH: &str = r#"
_fairway_values() {
    local -a found
    found=(${(f)"$("${words[1]}" complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)"})
    if (( ${#found} )); then
        compadd -- "${found[@]}"
    else
        _fairway "$@"
    fi
}
compdef _fairway_values fairway
"#;

const FISH: &str = r"
function __fairway_values
    set -l words (commandline -opc) (commandline -ct)
    fairway complete -- $words[2..-1] 2>/dev/null
end
complete -c fairway -a '(__fairway_values)'
";

/// Print the completion script of a shell
///
/// Commands and flags are completed by the script. In bash, zsh and fish, ids and names are asked from fairway at each Tab.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Args {
    pub(super) fn run(self, ctx: &Context, command: clap::Command) -> Result<Exit> {
        let script = script(self.shell, command);
        ctx.show(&json!({ "shell": self.shell.to_string(), "script": script }), Vec::new, || script.clone())
    }
}

/// The completion script of a shell.
pub(super) fn script(shell: Shell, mut command: clap::Command) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "fairway", &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    script.push_str(match shell {
        Shell::Bash => BASH,
        Shell::Zsh => ZSH,
        Shell::Fish => FISH,
        _ => "",
    });
    script
}
