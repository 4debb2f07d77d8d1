//! What a launch does itself because the script does not: wait until the program takes input, set the session up, type the
//! first prompt.

use std::{cell::OnceCell, path::Path, time::Duration};

use super::{outcome::LaunchOutcome, plan::LaunchPlan};
use crate::{
    actions::App,
    adapters::{
        Adapter, AdapterError, Capabilities, StartConfig, Tristate, clean_env,
        plumbing::SetupCommands,
        readiness::{self, Readiness, ReadinessProbe},
    },
    config::Setup,
    os::process::{ProcessKey, ProcessStatus},
};

/// How long a program may take to fail at once, where the script does not wait for that.
const EARLY_EXIT_WINDOW: Duration = Duration::from_millis(250);

/// What is left to a launch.
pub(crate) struct PostStart<'a> {
    adapter: &'a Adapter,
    plan: &'a LaunchPlan,
    /// What the script gets.
    start: StartConfig,
    capabilities: OnceCell<Capabilities>,
    /// The text that the script does not type.
    prompt_to_type: Option<String>,
}

impl<'a> PostStart<'a> {
    /// Takes out of the configuration what the script would not do.
    pub(crate) fn new(adapter: &'a Adapter, plan: &'a LaunchPlan) -> Self {
        let mut steps =
            Self { adapter, plan, start: plan.start.clone(), capabilities: OnceCell::new(), prompt_to_type: None };
        if steps.start.nudge.is_some() && !steps.capabilities().types_first_nudge() {
            steps.prompt_to_type = steps.start.nudge.take();
        }
        if plan.setup == Setup::Caller {
            let start = &mut steps.start;
            (start.session_setup, start.session_setup_script, start.session_live) = (None, None, None);
        }
        steps
    }

    /// What the script can do; asked where that matters. One that cannot be asked can nothing beyond the protocol's floor.
    fn capabilities(&self) -> &Capabilities {
        self.capabilities.get_or_init(|| self.adapter.capabilities().unwrap_or_default())
    }

    /// The configuration as the script gets it.
    pub(crate) const fn start(&self) -> &StartConfig {
        &self.start
    }

    /// Waits until the program is ready, unless the script has. That it is not ready in time is a note.
    pub(crate) fn wait_ready(&self, outcome: &LaunchOutcome, notes: &mut Vec<String>) -> Readiness {
        let root = match outcome {
            // A built-in one always waits for what fails at once.
            LaunchOutcome::Running(..) if self.plan.located.built_in.is_some() && !has_readiness_check(&self.start) => {
                return Readiness::Ready;
            }
            LaunchOutcome::Running(..) if self.capabilities().waits_until_ready() => return Readiness::Ready,
            LaunchOutcome::Running(_, root) => root.as_ref(),
            // Nobody could tell whether it is ready either.
            LaunchOutcome::Unknown(..) => return Readiness::Ready,
            LaunchOutcome::Ended => return Readiness::Exited,
        };
        let name = self.plan.session.id.as_str();
        let mut start = self.plan.start.clone();
        let cannot = |asked: Option<AdapterError>| matches!(asked, Some(AdapterError::Unsupported { .. }));
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
        let readiness = readiness::wait(&start, &mut ScriptProbe { adapter: self.adapter, name, root });
        if let Readiness::TimedOut(why) = &readiness {
            notes.push(format!("{name} may not be ready: {why}"));
        }
        readiness
    }

    /// What this call has yet to do once the session is recorded, as the end of a sentence.
    pub(crate) const fn remaining(&self) -> Option<&'static str> {
        match (&self.prompt_to_type, self.plan.setup) {
            (Some(_), _) => Some("the prompt was typed"),
            (None, Setup::Caller) => Some("the session was set up"),
            (None, Setup::Script) => None,
        }
    }

    /// Sets the session up and types the first prompt, as far as the script does not.
    pub(crate) fn run(&self, app: &App, notes: &mut Vec<String>) {
        let name = self.plan.session.id.as_str();
        if self.plan.setup == Setup::Caller {
            self.run_setup(app, notes);
        }
        let Some(text) = &self.prompt_to_type else { return };
        if let Err(error) = self.adapter.nudge(name, text.as_bytes()) {
            let why = match error {
                AdapterError::Unsupported { .. } => "this backend cannot type".to_owned(),
                error => error.to_string(),
            };
            notes.push(format!("the prompt was not delivered: {why}"));
        }
    }

    fn run_setup(&self, app: &App, notes: &mut Vec<String>) {
        let wish = &self.plan.start;
        let mut around = clean_env(&app.env);
        wish.apply_env(&mut around);
        let directory = wish.work_dir.as_deref().map_or(app.project.root.as_path(), Path::new);
        let steps = SetupCommands { env: &around, cwd: directory };
        let mut warn = |said: &str| notes.push(wish.redacted(said));
        steps.run_all("session_setup", wish.session_setup.as_deref(), &mut warn);
        steps.run_script("session_setup_script", wish.session_setup_script.as_deref(), &mut warn);
        steps.run_all("session_live", wish.session_live.as_deref(), &mut warn);
    }
}

/// Whether the configuration says how to tell that the program is ready.
const fn has_readiness_check(start: &StartConfig) -> bool {
    start.process_names.is_some() || start.ready_prompt_prefix.is_some() || start.ready_delay_ms.is_some()
}

/// A session as it is seen through its script.
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
