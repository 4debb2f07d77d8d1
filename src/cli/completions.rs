//! `fairway completions`

use anyhow::Result;
use clap_complete::Shell;

use super::context::Context;
use super::exit::Exit;
use super::short_verbs;
use fairway_core::wire::CompletionsView;

/// Asks fairway for values first; when it has none, clap's script completes commands and flags.
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

/// Completes words that are no options. [`fish_values`] does so for values of options.
const FISH: &str = r"
function __fairway_values
    set -l words (commandline -opc) (commandline -ct)
    set -l found (fairway complete -- $words[2..-1] 2>/dev/null)
    if set -q found[1]
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c fairway -f -a '(__fairway_values)'
";

/// Print the completion script of a shell
///
/// Commands and flags are completed by the script. In bash, zsh and fish, ids and names are asked from fairway at each Tab.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway completions bash")]
pub struct Args {
    /// Shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Args {
    pub(super) fn run(self, ctx: &Context, command: clap::Command) -> Result<Exit> {
        let script = script(self.shell, command);
        let document = CompletionsView { shell: self.shell.to_string(), script: script.clone() };
        ctx.show(&document, Vec::new, || script.clone())
    }
}

/// Makes the options in a script for fish that take a value ask `fairway complete`, because fish completes the value of an
/// option only by the line for that option.
fn fish_values(script: &str) -> String {
    let with_values = |line: &str| match line.strip_suffix(" -r") {
        Some(option) => format!("{option} -r -f -a '(__fairway_values)'\n"),
        None => format!("{line}\n"),
    };
    script.lines().map(with_values).collect()
}

/// Generates a shell's completion script. In bash, zsh and fish the script also asks `fairway complete` for ids and names.
pub(super) fn script(shell: Shell, command: clap::Command) -> String {
    let (mut command, mut script) = (short_verbs::with_short_verbs(command), Vec::new());
    clap_complete::generate(shell, &mut command, "fairway", &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    if shell == Shell::Fish {
        script = fish_values(&script);
    }
    script.push_str(match shell {
        Shell::Bash => BASH,
        Shell::Zsh => ZSH,
        Shell::Fish => FISH,
        _ => "",
    });
    script
}
