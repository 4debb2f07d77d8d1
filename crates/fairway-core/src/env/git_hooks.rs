//! The directory of git hooks that a session's environment names, and the settings of git in an environment.

use std::path::{Path, PathBuf};

use super::Env;

/// The variable with the number of settings.
pub const COUNT: &str = "GIT_CONFIG_COUNT";
/// The beginning of the variable with a setting's name.
pub const KEY: &str = "GIT_CONFIG_KEY_";
/// The beginning of the variable with a setting's value.
pub const VALUE: &str = "GIT_CONFIG_VALUE_";
/// The setting that names the directory of the hooks.
pub const HOOKS_PATH: &str = "core.hooksPath";

/// The variable with the settings of git's options `-c`.
pub const PARAMETERS: &str = "GIT_CONFIG_PARAMETERS";

/// The directory with the `git` of a session, below that of its hooks.
pub const BIN: &str = "bin";

/// The hook that asks the guard about a push.
pub const PRE_PUSH: &str = "pre-push";
/// The variant of that hook for sessions where a rule may deny even a push that only adds.
pub const EVERY_PUSH: &str = "pre-push-every";

/// The most settings that are read from an environment.
const MAX_SETTINGS: usize = 256;

/// The directory below which all git hooks of Fairway are; `None` without a home directory.
pub fn base(env: &Env) -> Option<PathBuf> {
    Some(env.state_dir()?.join("git-hooks"))
}

/// The git settings that an environment contains, except those that name Fairway's hooks. `get` reads a variable of that
/// environment.
pub fn settings(get: impl Fn(&str) -> Option<String>, base: &Path) -> Vec<(String, String)> {
    let count = get(COUNT).and_then(|count| count.trim().parse::<usize>().ok()).unwrap_or_default();
    let pair = |at: usize| Some((get(&format!("{KEY}{at}"))?, get(&format!("{VALUE}{at}"))?));
    (0..count.min(MAX_SETTINGS)).filter_map(pair).filter(|(key, value)| !is_ours(key, value, base)).collect()
}

fn is_ours(key: &str, value: &str, base: &Path) -> bool {
    key.eq_ignore_ascii_case(HOOKS_PATH) && Path::new(value).starts_with(base)
}

/// The text of [`PARAMETERS`] without the settings that name Fairway's hooks. Returns `None` when nothing is left, and when the
/// text is not in the form that git writes.
pub fn parameters(text: &str, base: &Path) -> Option<String> {
    let is_others = |word: &String| !word.split_once('=').is_some_and(|(key, value)| is_ours(key, value, base));
    // The one form of quotes that git reads back.
    let quoted = |word: String| format!("'{}'", word.replace('\'', "'\\''").replace('!', "'\\!'"));
    let words: Vec<String> = shell_words::split(text).ok()?.into_iter().filter(is_others).map(quoted).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// The variables that give these settings to git.
pub fn variables(settings: &[(String, String)]) -> Vec<(String, String)> {
    let count = (COUNT.to_owned(), settings.len().to_string());
    let pairs = settings
        .iter()
        .enumerate()
        .flat_map(|(at, (key, value))| [(format!("{KEY}{at}"), key.clone()), (format!("{VALUE}{at}"), value.clone())]);
    std::iter::once(count).chain(pairs).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_the_user_stay_and_those_of_fairway_are_left_out() {
        let base = Path::new("/state/git-hooks");
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let all =
            [pair("user.name", "A"), pair("core.hooksPath", "/state/git-hooks/1"), pair("core.hookspath", ".husky")];
        let given = variables(&all);
        let read = settings(|name| given.iter().find(|(given, _)| given == name).map(|(_, value)| value.clone()), base);
        assert_eq!(read, [pair("user.name", "A"), pair("core.hookspath", ".husky")]);
    }

    #[test]
    fn parameters_are_written_as_git_reads_them_and_without_the_hooks_of_fairway() {
        let base = Path::new("/state/git-hooks");
        let given = r"'core.hooksPath'='.husky' 'core.hooksPath'='/state/git-hooks/1' 'alias.x=!it'\''s'";
        assert_eq!(parameters(given, base).unwrap(), r"'core.hooksPath=.husky' 'alias.x='\!'it'\''s'");
        assert_eq!(parameters("'core.hookspath'='/state/git-hooks/1'", base), None);
        assert_eq!(parameters("", base), None);
        assert_eq!(parameters("'", base), None);
    }
}
