//! The steps of a launch that the backend script does not do itself: waiting until the program accepts input, setting the
//! session up, and typing the first prompt.

use std::cell::OnceCell;
use std::path::Path;
use std::time::Duration;

use super::outcome::LaunchOutcome;
use super::plan::LaunchPlan;
use crate::App;
use crate::sessions::control::question;
use crate::sessions::control::running_session::RunningSession;
use fairway_core::adapters::plumbing::SetupCommands;
use fairway_core::adapters::program_readiness::{self, Readiness, ReadinessProbe};
use fairway_core::adapters::{Adapter, AdapterError, Capabilities, StartConfig, Tristate, clean_env};
use fairway_core::config::Setup;
use fairway_core::domain::Refusal;
use fairway_core::os::process::{ProcessKey, ProcessStatus};

/// How long this process watches for an early exit of the program when the backend script does not wait for it.
const EARLY_EXIT_WINDOW: Duration = Duration::from_millis(250);

/// The steps that follow the start of the program.
pub(crate) struct PostStart<'a> {
    adapter: &'a Adapter,
    plan: &'a LaunchPlan,
    /// The configuration for the backend script.
    start: StartConfig,
    capabilities: OnceCell<Capabilities>,
    /// The prompt that the backend script does not type.
    prompt_to_type: Option<String>,
}

impl<'a> PostStart<'a> {
    /// Plans the steps that this process does after the start, and removes them from the configuration for the backend script.
    /// This process types the first prompt when the script cannot, and when the provider's trust and permission questions can be
    /// recognized on the screen: a script would type the prompt into such a question.
    pub(crate) fn new(app: &App, adapter: &'a Adapter, plan: &'a LaunchPlan) -> Self {
        let mut steps =
            Self { adapter, plan, start: plan.start.clone(), capabilities: OnceCell::new(), prompt_to_type: None };
        let has_questions = || !question::signs(app, &plan.session).is_empty();
        if steps.start.nudge.is_some() && (has_questions() || !steps.capabilities().types_first_nudge()) {
            steps.prompt_to_type = steps.start.nudge.take();
        }
        if plan.setup == Setup::Caller {
            let start = &mut steps.start;
            start.pre_start = None;
            (start.session_setup, start.session_setup_script, start.session_live) = (None, None, None);
        }
        // The protocol's table has neither field: only a script that says that it waits gets them.
        let waits = steps.start.ready_prompt_prefix.is_some() || steps.start.ready_delay_ms.is_some();
        if waits && plan.located.built_in.is_none() && !steps.capabilities().waits_until_ready() {
            (steps.start.ready_prompt_prefix, steps.start.ready_delay_ms) = (None, None);
        }
        steps
    }

    /// Runs the `pre_start` commands, unless the backend script runs them. Fails when the worktree does not exist afterwards,
    /// which the commands may create.
    pub(crate) fn prepare(&self, app: &App, notes: &mut Vec<String>) -> Result<(), AdapterError> {
        if self.plan.setup != Setup::Caller {
            return Ok(());
        }
        let config = &self.plan.start;
        let directory = self.work_dir(app);
        let mut env = clean_env(&app.env);
        config.apply_env(&mut env);
        // The commands that make the directory run in the project's root.
        let cwd = if directory.is_dir() { directory } else { app.project.root.as_path() };
        let mut warn = |text: &str| notes.push(config.redacted(text));
        SetupCommands { env: &env, cwd }.run_all("pre_start", config.pre_start.as_deref(), &mut warn);
        if directory.is_dir() {
            return Ok(());
        }
        let why = format!("{} was not started: there is no worktree {}", self.plan.session.id, directory.display());
        Err(AdapterError::PreviousFailed { why, retryable: false })
    }

    fn work_dir<'b>(&'b self, app: &'b App) -> &'b Path {
        self.plan.start.work_dir.as_deref().map_or(app.project.root.as_path(), Path::new)
    }

    /// The backend script's capabilities, queried at first use. A script that does not answer has only the required ones.
    fn capabilities(&self) -> &Capabilities {
        self.capabilities.get_or_init(|| self.adapter.capabilities().unwrap_or_default())
    }

    /// The start configuration that the backend script receives.
    pub(crate) const fn start(&self) -> &StartConfig {
        &self.start
    }

    /// Waits until the program is ready, unless the backend script has already waited for that. A timeout becomes a note.
    pub(crate) fn wait_ready(&self, outcome: &LaunchOutcome, notes: &mut Vec<String>) -> Readiness {
        let root = match outcome {
            // The built-in scripts always wait for an early exit.
            LaunchOutcome::Running(..) if self.plan.located.built_in.is_some() && !has_readiness_check(&self.start) => {
                return Readiness::Ready;
            }
            LaunchOutcome::Running(..) if self.capabilities().waits_until_ready() => return Readiness::Ready,
            LaunchOutcome::Running(_, root) => root.as_ref(),
            // A backend that does not know whether the program runs cannot report its readiness.
            LaunchOutcome::Unknown(..) => return Readiness::Ready,
            LaunchOutcome::Ended => return Readiness::Exited,
        };
        let name = self.plan.session.name();
        let mut start = self.plan.start.clone();
        let cannot = |error: Option<AdapterError>| matches!(error, Some(AdapterError::Unsupported { .. }));
        if let Some(names) = &start.process_names
            && cannot(self.adapter.process_alive(name, names).err())
        {
            notes.push("this backend cannot report whether the program runs; did not wait for it".to_owned());
            start.process_names = None;
        }
        if start.ready_prompt_prefix.is_some() && cannot(self.adapter.peek(name, 0).err()) {
            notes.push("this backend does not support peek; did not wait for the program's prompt".to_owned());
            start.ready_prompt_prefix = None;
        }
        if !has_readiness_check(&start) {
            start.ready_delay_ms = u64::try_from(EARLY_EXIT_WINDOW.as_millis()).ok();
        }
        let readiness = program_readiness::wait(&start, &mut ScriptProbe { adapter: self.adapter, name, root });
        if let Readiness::TimedOut(why) = &readiness {
            notes.push(format!("{} may not be ready: {why}", self.plan.session.id));
        }
        readiness
    }

    /// The step that this process still has to do when the session has been recorded, as a clause for a message; `None` when
    /// there is none.
    pub(crate) const fn remaining(&self) -> Option<&'static str> {
        match (&self.prompt_to_type, self.plan.setup) {
            (Some(_), _) => Some("the prompt was typed"),
            (None, Setup::Caller) => Some("the session was set up"),
            (None, Setup::Script) => None,
        }
    }

    /// Sets the session up and types the first prompt, as far as the backend script does not do that. Failures become notes.
    pub(crate) fn run(&self, app: &App, notes: &mut Vec<String>) {
        if self.plan.setup == Setup::Caller {
            self.run_setup(app, notes);
        }
        let Some(text) = &self.prompt_to_type else { return };
        let live = RunningSession { session: self.plan.session.clone(), adapter: self.adapter.clone() };
        if let Err(error) = question::type_unless_asked(app, &live, text.as_bytes()) {
            let why = match (error.downcast_ref(), error.downcast_ref()) {
                (Some(AdapterError::Unsupported { .. }), _) => "this backend cannot type".to_owned(),
                (_, Some(asks @ Refusal::SessionAsks { session, .. })) => format!(
                    "{asks}; answer in its terminal: fairway session attach {session}; then: fairway prompt {session} TEXT"
                ),
                _ => error.to_string(),
            };
            notes.push(format!("the prompt was not delivered: {why}"));
        }
    }

    fn run_setup(&self, app: &App, notes: &mut Vec<String>) {
        let config = &self.plan.start;
        let mut env = clean_env(&app.env);
        config.apply_env(&mut env);
        let steps = SetupCommands { env: &env, cwd: self.work_dir(app) };
        let mut warn = |text: &str| notes.push(config.redacted(text));
        steps.run_all("session_setup", config.session_setup.as_deref(), &mut warn);
        steps.run_script("session_setup_script", config.session_setup_script.as_deref(), &mut warn);
        steps.run_all("session_live", config.session_live.as_deref(), &mut warn);
    }
}

/// Whether the configuration has a readiness check.
const fn has_readiness_check(start: &StartConfig) -> bool {
    start.process_names.is_some() || start.ready_prompt_prefix.is_some() || start.ready_delay_ms.is_some()
}

/// The state of a session as its backend script reports it.
struct ScriptProbe<'a> {
    adapter: &'a Adapter,
    name: &'a str,
    root: Option<&'a ProcessKey>,
}

impl ReadinessProbe for ScriptProbe<'_> {
    fn has_program(&mut self, names: &[String]) -> Option<bool> {
        self.adapter.process_alive(self.name, names).ok()
    }

    fn screen(&mut self) -> Option<String> {
        self.adapter.peek(self.name, 0).ok()
    }

    fn has_exited(&mut self) -> bool {
        match self.root {
            Some(root) => matches!(root.status(), ProcessStatus::Gone(_)),
            None => self.adapter.is_running(self.name) == Tristate::No,
        }
    }
}
