//! Programs that a configuration names. Those of the user's own configuration and of the machine's run. Those that are named by
//! a repository, a worktree or a file that these include do not run, because an agent can write there.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use super::command::{Git, GitError, QUERY_TIMEOUT, found, output_text, succeeded};
use crate::os::capture::Captured;

/// The settings that make a filter over the content of files.
const FILTERS: &str = r"^filter\..*\.(clean|smudge|process|required)$";
/// The settings of the remotes that promise the content of a partial clone.
pub(super) const PROMISORS: &str = r"^remote\..*\.promisor$";
/// The settings of programs that merge files.
const MERGE_DRIVERS: &str = r"^merge\..*\.(driver|recursive)$";
/// The settings that name the programs that sign commits.
const SIGNERS: &str = r"^gpg\.(program|[^.]*\.program|ssh\.defaultkeycommand)$";
/// The settings that name the pager of a comparison.
const PAGERS: &str = r"^(core\.pager|pager\.diff)$";

/// The values of a setting in the user's configuration and in others.
#[derive(Debug, Default, PartialEq, Eq)]
struct Setting {
    /// The last value of the user's own configuration or of the machine's, as git takes it.
    own: Option<String>,
    /// Whether another scope has one.
    is_foreign: bool,
}

impl Git<'_> {
    /// Runs git on the files of a worktree. Of the filters, only those of the user's own configuration run.
    pub(super) fn run_on_files<T: AsRef<OsStr>>(&self, args: &[T], limit: Duration) -> Result<Captured, GitError> {
        self.run(&self.on_files(args)?, limit)
    }

    /// Like [`Self::run_on_files`], but returns stdout as text. `step` names the call in the error when git does not exit with
    /// 0.
    pub(super) fn run_on_files_checked<T: AsRef<OsStr>>(
        &self,
        step: &'static str,
        args: &[T],
        limit: Duration,
    ) -> Result<String, GitError> {
        Ok(output_text(&succeeded(step, self.run_on_files(args, limit)?)?.stdout))
    }

    /// Returns `args` with flags before them. For every filter that the repository's configuration names, these set the value of
    /// the user's own configuration, or switch the filter off when that has none.
    pub(super) fn on_files<T: AsRef<OsStr>>(&self, args: &[T]) -> Result<Vec<OsString>, GitError> {
        let mut all = filter_flags(&self.settings(FILTERS)?, |_| true);
        all.extend(args.iter().map(|arg| arg.as_ref().to_owned()));
        Ok(all)
    }

    /// The names of the filters for which a configuration other than the user's own has a setting. Fairway does not use that
    /// setting.
    pub(super) fn filters_that_are_off(&self) -> Result<BTreeSet<String>, GitError> {
        let settings = self.settings(FILTERS)?;
        let foreign = settings.iter().filter(|(_, setting)| setting.is_foreign);
        Ok(foreign.filter_map(|(name, _)| driver(name)).collect())
    }

    /// Runs a checkout in which only the filters of the user's own configuration run. It fails where the repository requires
    /// another filter: the files would have the wrong content.
    pub(super) fn run_checkout<T: AsRef<OsStr>>(&self, args: &[T], limit: Duration) -> Result<(), GitError> {
        let mut settings = self.settings(&format!("{FILTERS}|{PROMISORS}"))?;
        let all = settings.len();
        settings.retain(|name, _| name.starts_with("filter."));
        let is_partial = settings.len() < all;
        if settings.get("filter.git-crypt.smudge").is_some_and(|setting| setting.own.is_some()) {
            self.link_key_directory()?;
        }
        let mut all = filter_flags(&settings, |name| !name.ends_with(".required"));
        all.extend(args.iter().map(|arg| arg.as_ref().to_owned()));
        succeeded("checkout", self.run_with_promisors(is_partial, &all, &[], limit)?).map(drop)
    }

    /// Links the keys of git-crypt into git's directory of this worktree, where git-crypt looks for them.
    fn link_key_directory(&self) -> Result<(), GitError> {
        let args = ["rev-parse", "--path-format=absolute", "--git-common-dir", "--git-dir"];
        let text = self.run_checked("rev-parse", &args, QUERY_TIMEOUT)?;
        let mut dirs = text.lines().map(|dir| Path::new(dir).join("git-crypt"));
        if let (Some(keys), Some(link)) = (dirs.next(), dirs.next())
            && keys.is_dir()
            && link.symlink_metadata().is_err()
        {
            symlink(&keys, &link).map_err(|error| GitError::Scratch { dir: link, error })?;
        }
        Ok(())
    }

    /// The filters that only the repository's configuration has, and which Fairway therefore does not run.
    pub fn filters_of_repository(&self) -> Result<BTreeSet<String>, GitError> {
        let settings = self.settings(FILTERS)?;
        let of = |is_wanted: fn(&Setting) -> bool| -> BTreeSet<String> {
            settings.iter().filter(|(_, setting)| is_wanted(setting)).filter_map(|(name, _)| driver(name)).collect()
        };
        Ok(&of(|setting| setting.is_foreign) - &of(|setting| setting.own.is_some()))
    }

    /// The merge drivers of the user's own configuration, as settings.
    pub(super) fn own_merge_drivers(&self) -> Result<Vec<(String, String)>, GitError> {
        let settings = self.settings(MERGE_DRIVERS)?;
        Ok(settings.into_iter().filter_map(|(name, setting)| Some((name, setting.own?))).collect())
    }

    /// The setting `core.hooksPath`, where it leads to a directory of the worktree.
    pub fn relative_hooks_path(&self) -> Result<Option<String>, GitError> {
        // The last one is what this program sets.
        let entries = self.config_entries(r"^core\.hookspath$")?;
        let set = entries.iter().rfind(|entry| entry.scope != "command");
        Ok(set.map(|entry| entry.value.clone()).filter(|path| !path.is_empty() && !path.starts_with(['/', '~'])))
    }

    /// The pager of a comparison: `GIT_PAGER`, else that of the user's own configuration, else `PAGER`. `None` means git's
    /// default.
    pub(super) fn own_pager(&self) -> Result<Option<OsString>, GitError> {
        let var = |name: &str| self.vars().get(OsStr::new(name)).cloned();
        if let Some(pager) = var("GIT_PAGER") {
            return Ok(Some(pager));
        }
        let settings = self.settings(PAGERS)?;
        let own = |name: &str| settings.get(name)?.own.clone().map(OsString::from);
        let is_switch =
            |text: &OsString| matches!(text.to_str(), Some("true" | "false" | "yes" | "no" | "on" | "off" | ""));
        let of_diff = own("pager.diff").filter(|text| !is_switch(text));
        Ok(of_diff.or_else(|| own("core.pager")).or_else(|| var("PAGER")))
    }

    /// Flags that set the programs that sign commits to those of the user's own configuration, or to git's defaults, wherever
    /// the repository names others.
    pub(super) fn signer_flags(&self) -> Result<Vec<OsString>, GitError> {
        let settings = self.settings(SIGNERS)?;
        let foreign = settings.iter().filter(|(_, setting)| setting.is_foreign);
        let flag = |(name, setting): (&String, &Setting)| {
            let default = match name.as_str() {
                "gpg.x509.program" => "gpgsm",
                "gpg.ssh.program" => "ssh-keygen",
                "gpg.ssh.defaultkeycommand" => "",
                _ => "gpg",
            };
            format!("{name}={}", setting.own.as_deref().unwrap_or(default))
        };
        Ok(foreign.flat_map(|one| [OsString::from("-c"), flag(one).into()]).collect())
    }

    /// The settings whose names match, by name.
    fn settings(&self, pattern: &str) -> Result<BTreeMap<String, Setting>, GitError> {
        Ok(by_name(self.config_entries(pattern)?))
    }

    /// All values of the settings whose names match a regular expression, in git's order. A later one overrides.
    pub(super) fn config_entries(&self, pattern: &str) -> Result<Vec<Entry>, GitError> {
        let done = self.run(&["config", "--show-scope", "-z", "--get-regexp", pattern], QUERY_TIMEOUT)?;
        Ok(found("config", done)?.map_or_else(Vec::new, |done| entries(&String::from_utf8_lossy(&done.stdout))))
    }
}

/// The filter of a setting such as `filter.lfs.clean`.
fn driver(name: &str) -> Option<String> {
    Some(name.strip_prefix("filter.")?.rsplit_once('.')?.0.to_owned())
}

/// A value of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// `system`, `global`, `local`, `worktree` or `command`.
    pub(super) scope: String,
    /// The name as git normalizes it.
    pub(super) name: String,
    pub(super) value: String,
}

impl Entry {
    /// Whether the setting is the caller's: of the user, the machine, or the environment.
    pub(super) fn is_own(&self) -> bool {
        matches!(&*self.scope, "system" | "global" | "command")
    }
}

/// Reads the output of `git config --show-scope -z`: the fields `SCOPE NUL NAME LF VALUE NUL`, in git's order.
pub(super) fn entries(listed: &str) -> Vec<Entry> {
    let mut all = Vec::new();
    let mut fields = listed.split_terminator('\0').map(str::to_owned);
    while let (Some(scope), Some(entry)) = (fields.next(), fields.next()) {
        let (name, value) = entry.split_once('\n').unwrap_or((&entry, "true"));
        all.push(Entry { scope, name: name.to_owned(), value: value.to_owned() });
    }
    all
}

fn by_name(entries: Vec<Entry>) -> BTreeMap<String, Setting> {
    let mut settings: BTreeMap<String, Setting> = BTreeMap::new();
    for Entry { scope, name, value } in entries {
        let setting = settings.entry(name).or_default();
        match &*scope {
            "system" | "global" => setting.own = Some(value),
            _ => setting.is_foreign = true,
        }
    }
    settings
}

/// The flags for the settings that are chosen by name and that a repository has.
fn filter_flags(settings: &BTreeMap<String, Setting>, is_chosen: impl Fn(&str) -> bool) -> Vec<OsString> {
    let foreign = settings.iter().filter(|(name, setting)| setting.is_foreign && is_chosen(name));
    let flag = |(name, setting): (&String, &Setting)| {
        let off = if name.ends_with(".required") { "false" } else { "" };
        format!("{name}={}", setting.own.as_deref().unwrap_or(off))
    };
    foreign.flat_map(|one| [OsString::from("-c"), flag(one).into()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_of_a_repository_are_off_and_those_of_the_user_stay() {
        let listed = "global\0filter.lfs.clean\nlfs clean\0local\0filter.lfs.clean\nevil\0local\0filter.x.smudge\nevil\0\
                      worktree\0filter.x.required\ntrue\0global\0filter.own.clean\nmine\0";
        let flags: Vec<String> = filter_flags(&by_name(entries(listed)), |_| true)
            .into_iter()
            .map(|flag| flag.into_string().unwrap())
            .collect();
        let expected = ["-c", "filter.lfs.clean=lfs clean", "-c", "filter.x.required=false", "-c", "filter.x.smudge="];
        assert_eq!(flags, expected);
    }
}
