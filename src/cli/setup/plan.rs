//! The plan of a setup: one step for each file. Looks at files and changes nothing.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::added_lines::addition;
use super::agents_block::{self, AGENTS_FILE, BLOCK, Found, IMPORT};
use super::record::Record;
use super::{completion, starter};
use crate::cli::completions;
use crate::cli::context::Context;
use crate::hooks::Provider;
use crate::hooks::install::{self, SettingsFile, Target};
use fairway_actions::queue::lane::copies::INCLUDE_FILE;
use fairway_actions::queue::lane::walkers;
use fairway_core::config::project::{STATE_DIR, canonical_or_near, worktree_top};
use fairway_core::config::trust::{self, Trust};
use fairway_core::config::{CONFIG_FILE, Layers, Project, Settings};
use fairway_core::domain::Refusal;
use fairway_core::os::executable;
use fairway_core::os::git::Git;
use fairway_core::wire::SetupStepView;

/// The task of a person who sets up a directory without git.
pub(super) const NO_GIT: &str = "this is no git repository, and lanes need one: git init, then a first commit";

/// The parts of a line about the sections for lock files and for lanes.
const LOCKS: &str = "commands that write lock files anew";
const LANES: &str = "the setup of new lanes";
/// The patterns of a new file that names what is copied into new worktrees.
const COPIED: [&str; 2] = [".env*", "!**/node_modules/**"];

/// The work of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Work {
    /// Nothing: the file is right already.
    Unchanged,
    /// Nothing, for this reason.
    Left(String),
    /// Creates the project.
    Init,
    /// Adds lines at the end of a file.
    Add(String),
    /// Writes a file.
    Write(String),
    /// Enters a provider's hooks.
    Hooks(Provider, Target),
    /// Trusts the configuration.
    Trust,
}

#[derive(Debug, Clone)]
pub(super) struct Step {
    /// Its subject: `project`, `config`, `copies`, `agents`, `hooks`, `exclude`, `completions` or `trust`.
    pub kind: &'static str,
    pub file: PathBuf,
    /// Where the file is, when a link leads there.
    pub target: Option<PathBuf>,
    /// A sentence for a person.
    pub line: String,
    pub work: Work,
}

impl Step {
    /// False when the file is right already or is left alone.
    pub const fn is_change(&self) -> bool {
        !matches!(self.work, Work::Unchanged | Work::Left(_))
    }

    /// The step as a document. `is_done` tells whether it was carried out or only planned.
    pub fn view(&self, is_done: bool) -> SetupStepView {
        SetupStepView {
            kind: self.kind,
            file: self.file.display().to_string(),
            target: self.target.as_ref().map(|target| target.display().to_string()),
            status: match (&self.work, is_done) {
                (Work::Unchanged, _) => "unchanged",
                (Work::Left(_), _) => "left",
                (_, true) => "changed",
                (_, false) => "would_change",
            },
            why: match &self.work {
                Work::Left(why) => Some(why.clone()),
                _ => None,
            },
            text: match &self.work {
                Work::Add(text) => Some(text.clone()),
                _ => None,
            },
        }
    }
}

#[derive(Debug)]
pub(super) struct Plan {
    pub project: Project,
    /// Whether setup creates the project.
    pub is_new: bool,
    pub steps: Vec<Step>,
    /// The tasks that only a person can do.
    pub left: Vec<String>,
    /// The providers with hooks.
    pub providers: Vec<Provider>,
    /// Whether the worktrees of subagents are to be lanes, by hooks.
    pub worktrees: bool,
}

impl Plan {
    /// Plans a setup from the state of the project and of the user's files, and changes nothing. `wanted` restricts the
    /// providers; when it is empty, they are those in PATH.
    pub fn new(ctx: &Context, command: clap::Command, wanted: &[Provider], worktrees: bool) -> Result<Self> {
        let found = Project::discover(&ctx.env, ctx.globals.root.as_deref()).ok();
        let is_new = found.is_none();
        let project = match found {
            Some(project) => project,
            None => Project::at(Project::init_root(&ctx.env, ctx.globals.root.as_deref())?, &ctx.env),
        };
        if !project.root.is_dir() {
            return Err(Refusal::invalid("root", format!("{} is not a directory", project.root.display())).into());
        }
        let mut plan = Self { project, is_new, steps: Vec::new(), left: Vec::new(), providers: Vec::new(), worktrees };
        plan.add_config(ctx)?;
        plan.add_copies(ctx);
        plan.add_hooks(ctx, wanted)?;
        plan.add_agents()?;
        plan.add_completions(ctx, command)?;
        plan.add_trust(ctx)?;
        plan.add_git_steps();
        let told = |walker: &walkers::Walker| {
            format!("keep {} out of the lanes below {STATE_DIR}: {}", walker.name, walker.mend)
        };
        plan.left.extend(walkers::find(&plan.project.root).map(told));
        plan.follow_links()?;
        Ok(plan)
    }

    /// Names the targets of links in the repository on the way to a file that would be written.
    fn follow_links(&mut self) -> Result<()> {
        let root = &self.project.root;
        let real_root = root.canonicalize()?;
        for step in self.steps.iter_mut().filter(|step| step.is_change()) {
            // The user's own files lie where the user wants them.
            let Ok(below) = step.file.strip_prefix(root) else { continue };
            for dir in below.ancestors().skip(1).map(|dir| root.join(dir)) {
                if let (Ok(target), false) = (fs::read_link(&dir), dir.exists()) {
                    let why = format!(
                        "cannot be written: {} is a link to {}, which does not exist",
                        dir.display(),
                        target.display()
                    );
                    return Err(Refusal::InvalidSettings { path: step.file.display().to_string(), why }.into());
                }
            }
            let target = canonical_or_near(&SettingsFile::read(&step.file)?.path);
            step.target = Some(target).filter(|target| *target != real_root.join(below));
        }
        Ok(())
    }

    /// The first file that a symbolic link leads out of the repository or into its `.git`, and the real path of that file.
    pub fn outside(&self) -> Option<(&Path, &Path)> {
        let top = worktree_top(&self.project.root).or_else(|| self.project.root.canonicalize().ok());
        let is_outside = |target: &Path| {
            top.as_deref().is_none_or(|top| target.strip_prefix(top).map_or(true, |below| below.starts_with(".git")))
        };
        let targets = self.steps.iter().filter_map(|step| Some((step.file.as_path(), step.target.as_deref()?)));
        targets.into_iter().find(|(_, target)| is_outside(target))
    }

    pub fn is_in_git(&self) -> bool {
        self.project.root.ancestors().any(|dir| dir.join(".git").exists())
    }

    /// Adds the tasks that a person must do with git, because a lane's worktree contains only committed files.
    fn add_git_steps(&mut self) {
        if !self.is_in_git() {
            self.left.push(NO_GIT.to_owned());
            return;
        }
        let is_new = self.is_new;
        let of_repository = |step: &&Step| {
            step.is_change()
                && (matches!(step.kind, "config" | "copies" | "agents") || step.kind == "project" && is_new)
        };
        let mut names: Vec<String> =
            self.steps.iter().filter(of_repository).map(|step| self.shown(&step.file)).collect();
        names.dedup();
        if !names.is_empty() {
            let names = names.join(" ");
            let command = format!("git add {names} && git commit -m 'Fairway'");
            self.left.push(format!(
                "commit the files that lanes need, before 'git clean' or 'git stash -u' takes them: {command}"
            ));
        }
    }

    fn push(&mut self, kind: &'static str, file: PathBuf, line: impl Into<String>, work: Work) {
        self.steps.push(Step { kind, file, target: None, line: line.into(), work });
    }

    /// A path as a person reads it: relative to the project's root when it is below that.
    fn shown(&self, file: &Path) -> String {
        file.strip_prefix(&self.project.root).unwrap_or(file).display().to_string()
    }

    fn add_config(&mut self, ctx: &Context) -> Result<()> {
        let file = self.project.root.join(CONFIG_FILE);
        if self.is_new {
            let line = format!("create {CONFIG_FILE} and the state directory with the store");
            self.push("project", file.clone(), line, Work::Init);
            self.add_first_config(file);
            return Ok(());
        }
        if self.project.state.is_dir() {
            self.push("project", file.clone(), "the project exists", Work::Unchanged);
        } else {
            // A clone has the committed files only.
            let line = "create the state directory of this checkout";
            self.push("project", self.project.state.clone(), line, Work::Init);
        }
        let before = SettingsFile::read(&file)?.text.unwrap_or_default();
        // A setup that was killed before its next change has created the file.
        if Record::load(&self.project)?.is_some_and(|record| record.is_own(&file, &before)) {
            self.add_first_config(file);
            return Ok(());
        }
        let layers = Layers::load(&self.project, &ctx.env)?;
        let locks = starter::regeneration(&self.project.root).filter(|_| !layers.has_any_section(&["land"]));
        let lanes = starter::lane_setup(&self.project.root).filter(|_| !layers.has_any_section(&["lanes"]));
        let guard = (!layers.has_any_section(&["guard"])).then_some(starter::GUARD);
        let sections: Vec<&str> = guard.into_iter().chain(locks.as_deref()).chain(lanes.as_deref()).collect();
        let added =
            [guard.map(|_| "two rules of the guard"), locks.as_ref().map(|_| LOCKS), lanes.as_ref().map(|_| LANES)];
        let added: Vec<&str> = added.into_iter().flatten().collect();
        if added.is_empty() {
            self.push("config", file, "the configuration has rules of the guard", Work::Unchanged);
        } else {
            let line = format!("add to {CONFIG_FILE}: {}", added.join(", and "));
            self.push("config", file, line, Work::Add(addition(&before, &sections.join("\n"))));
        }
        Ok(())
    }

    /// Adds to the configuration the sections of a project that setup creates.
    fn add_first_config(&mut self, file: PathBuf) {
        let root = &self.project.root;
        let found = [(starter::regeneration(root), LOCKS), (starter::lane_setup(root), LANES)];
        let found = found.into_iter().filter_map(|(section, what)| section.map(|section| (section, what)));
        let (sections, more): (String, String) =
            found.map(|(section, what)| (format!("\n{section}"), format!(", and {what}"))).unzip();
        let block = format!("\n{}\n{}{sections}", starter::CLAIMS, starter::GUARD);
        let line = format!("add to {CONFIG_FILE}: own lane only, and two rules of the guard{more}");
        self.push("config", file, line, Work::Add(block));
    }

    /// Offers copies of ignored `.env` files for new worktrees, where nothing names copies.
    fn add_copies(&mut self, ctx: &Context) {
        let Some(top) = worktree_top(&self.project.root) else { return };
        let file = top.join(INCLUDE_FILE);
        let settings = Layers::load(&self.project, &ctx.env)
            .ok()
            .and_then(|layers| Settings::from_layers(&layers, &self.project).ok());
        let names_copies = settings.is_some_and(|settings| !settings.lanes.include.is_empty());
        if names_copies || file.symlink_metadata().is_ok() {
            return;
        }
        let git = Git::new(ctx.env.vars(), &top);
        let found = git.untracked_matching(None, &COPIED.map(str::to_owned));
        let ignored = found.and_then(|found| git.ignored_of(&found));
        let ignored = ignored.unwrap_or_default();
        let Some(first) = ignored.first() else { return };
        let more = if ignored.len() > 1 { format!(" and {} more", ignored.len() - 1) } else { String::new() };
        let line = format!("create {INCLUDE_FILE}: new worktrees get copies of {}{more}", first.display());
        let text = format!("# Ignored files that new worktrees get copies of\n{}\n", COPIED.join("\n"));
        self.push("copies", file, line, Work::Add(text));
    }

    fn add_hooks(&mut self, ctx: &Context, wanted: &[Provider]) -> Result<()> {
        let path = ctx.env.var_os(fairway_core::env::vars::PATH).map(OsString::as_os_str);
        let is_installed = |provider: &Provider| executable::find(provider.label(), path, &ctx.env.cwd).is_some();
        self.providers = if wanted.is_empty() {
            Provider::ALL.iter().copied().filter(is_installed).collect()
        } else {
            Provider::ALL.iter().copied().filter(|provider| wanted.contains(provider)).collect()
        };
        if self.providers.is_empty() {
            let names: Vec<&str> = Provider::ALL.iter().map(|provider| provider.label()).collect();
            self.left
                .push(format!("no agent's command line is in PATH ({}): install one, then repeat", names.join(", ")));
        }
        let own = executable::current_executable()?;
        let mut excluded = Vec::new();
        for provider in self.providers.clone() {
            let root = self.project.root.clone();
            let is_ours = install::own_hook_matcher(provider, &own);
            let targets = [Target::Local(root.clone()), Target::Project(root.clone()), Target::User];
            let mut known = None;
            for target in &targets {
                let Ok(file) = target.path(provider, &ctx.env) else { continue };
                let text = SettingsFile::read(&file)?.text.unwrap_or_default();
                let invalid = |why| Refusal::InvalidSettings { path: file.display().to_string(), why };
                if !install::find_hooks(&text, &is_ours).map_err(invalid)?.is_empty() {
                    let has_lanes = !provider.can_have_lanes()
                        || install::has_worktree_hooks(provider, &text, &is_ours).map_err(invalid)?;
                    known = Some((file, target.clone(), has_lanes || !self.worktrees));
                    break;
                }
            }
            let target = Target::Local(root);
            let file = target.path(provider, &ctx.env)?;
            let label = provider.label();
            if let Some(plugin) = install::plugin::enabled(provider, &ctx.env, Some(&self.project.root)) {
                let line = format!("the plugin {} brings the hooks of {label}", plugin.id);
                self.push("hooks", plugin.file, line, Work::Unchanged);
            } else if let Some((known, _, true)) = known {
                let line = format!("{} has the hooks of {label}", self.shown(&known));
                self.push("hooks", known, line, Work::Unchanged);
            } else if let Some((known, of, false)) = known {
                let line = format!("enter the hooks of worktrees in {}", self.shown(&known));
                let why = format!("they hold in every project; first: fairway hook uninstall {label} --user");
                let work = if of == Target::User { Work::Left(why) } else { Work::Hooks(provider, of) };
                self.push("hooks", known, line, work);
            } else if self.is_tracked(ctx, &file) {
                // An entry names this machine's program: it does not belong into a commit.
                let line = format!("enter the hooks of {label} in {}", self.shown(&file));
                let why = format!("git tracks it; for every project of yours: fairway hook install {label} --user");
                self.push("hooks", file, line, Work::Left(why));
            } else {
                let line = format!("enter the hooks of {label} in {}", self.shown(&file));
                if !self.is_ignored(ctx, &file) {
                    excluded.push(self.shown(&file));
                }
                self.push("hooks", file, line, Work::Hooks(provider, target));
            }
        }
        self.add_exclude(ctx, &excluded)
    }

    /// Whether git tracks a file. Outside of a repository it does not.
    fn is_tracked(&self, ctx: &Context, file: &Path) -> bool {
        let (Some(dir), Some(name)) = (file.parent().filter(|dir| dir.is_dir()), file.file_name()) else {
            return false;
        };
        Git::new(ctx.env.vars(), dir).first_tracked(&[name.to_owned()]).is_ok_and(|found| found.is_some())
    }

    /// Whether git leaves a file alone, as it does outside of a repository.
    fn is_ignored(&self, ctx: &Context, file: &Path) -> bool {
        Git::new(ctx.env.vars(), &self.project.root).is_ignored(file).unwrap_or(true)
    }

    fn add_exclude(&mut self, ctx: &Context, files: &[String]) -> Result<()> {
        if files.is_empty() {
            return Ok(());
        }
        let root = self.project.root.clone();
        let Ok(exclude) = Git::new(ctx.env.vars(), &root).exclude_file() else { return Ok(()) };
        // Patterns are relative to the top of the worktree.
        let top = worktree_top(&root).unwrap_or_else(|| root.clone());
        let below = root.canonicalize().unwrap_or(root);
        let below = below.strip_prefix(&top).map(Path::display).map(|below| below.to_string()).unwrap_or_default();
        let prefix = if below.is_empty() { "/".to_owned() } else { format!("/{below}/") };
        let before = SettingsFile::read(&exclude)?.text.unwrap_or_default();
        let patterns = files.iter().map(|file| format!("{prefix}{file}\n")).collect::<String>();
        let added = addition(&before, &format!("# fairway setup: hooks that name this machine's program\n{patterns}"));
        let line = format!("let git ignore {} in this clone", files.join(", "));
        self.push("exclude", exclude, line, Work::Add(added));
        Ok(())
    }

    fn add_agents(&mut self) -> Result<()> {
        let file = self.project.root.join(AGENTS_FILE);
        let text = SettingsFile::read(&file)?.text.unwrap_or_default();
        let line = format!("add the lines of Fairway to {AGENTS_FILE}");
        match agents_block::find_block(&text) {
            Found::Complete => {
                self.push("agents", file.clone(), format!("{AGENTS_FILE} names fairway guide"), Work::Unchanged);
            }
            Found::Changed => {
                self.push("agents", file.clone(), line, Work::Left("a person has changed them".to_owned()));
            }
            Found::Nothing => self.push("agents", file.clone(), line, Work::Add(addition(&text, BLOCK))),
        }
        for name in self.providers.clone().into_iter().filter_map(Provider::import_file) {
            let import = self.project.root.join(name);
            let text = SettingsFile::read(&import)?.text.unwrap_or_default();
            // A link to AGENTS.md has its lines already.
            let is_same =
                fs::canonicalize(&import).is_ok_and(|path| fs::canonicalize(&file).is_ok_and(|file| file == path));
            if is_same || agents_block::has_import(&text) {
                self.push("agents", import, format!("{name} includes {AGENTS_FILE}"), Work::Unchanged);
            } else {
                let line = format!("let {name} include {AGENTS_FILE}");
                self.push("agents", import, line, Work::Add(addition(&text, IMPORT)));
            }
        }
        Ok(())
    }

    fn add_completions(&mut self, ctx: &Context, command: clap::Command) -> Result<()> {
        let Some((shell, file, note)) = completion::place(&ctx.env) else {
            return Ok(());
        };
        let script = completions::script(shell, command);
        let line = format!("write the completions of {shell} to {}", file.display());
        let current = SettingsFile::read(&file)?.text;
        let record = Record::load(&self.project)?.unwrap_or_default();
        match current {
            Some(text) if text == script => {
                self.push("completions", file, format!("{shell} has the completions"), Work::Unchanged);
            }
            Some(text) if !record.is_own(&file, &text) => {
                let why = format!("another file stands there; to replace it: fairway completions {shell} >FILE");
                self.push("completions", file, line, Work::Left(why));
            }
            _ => {
                self.left.extend(note.map(str::to_owned));
                self.push("completions", file, line, Work::Write(script));
            }
        }
        Ok(())
    }

    fn add_trust(&mut self, ctx: &Context) -> Result<()> {
        let file = self.project.root.join(CONFIG_FILE);
        let is_changed = self.steps.iter().any(|step| step.kind == "config" && step.is_change());
        let state = if self.is_new {
            Trust::Untrusted(String::new())
        } else {
            let layers = Layers::load(&self.project, &ctx.env)?;
            let settings = Settings::from_layers(&layers, &self.project)?;
            trust::check(&ctx.env, &self.project, &layers, &settings)
        };
        if !is_changed && !matches!(state, Trust::Untrusted(_)) {
            self.push("trust", file, "the configuration is trusted", Work::Unchanged);
        } else {
            self.push("trust", file, "trust the configuration as it is then", Work::Trust);
        }
        Ok(())
    }
}
