//! A canary: one short turn of an agent, in which it must ask before it runs a command. The answer is always a denial.

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::poll;

use super::agent_link::AgentLink;
use crate::acp::{
    AgentInfo, Command, Effect, Event, GuardMode, Permission, PermissionChoice, Proof, Report, StateMachine,
    StateMachineConfig,
};
use crate::domain::usage::UsageScope;
use crate::os::command::Program;
use crate::os::poll::poll_timeout;
use crate::os::process_tree;

/// How long the agent's processes have between TERM and KILL.
const GRACE: Duration = Duration::from_secs(1);

/// A turn that tests an agent.
#[derive(Debug, Clone, Copy)]
pub struct Canary<'a> {
    pub program: Program<'a>,
    /// The mode in which the agent asks.
    pub mode: Option<&'a str>,
    pub prompt: &'a str,
    /// A text that is part of the command for which the prompt asks.
    pub sign: &'a str,
    /// The environment entry by which the agent's processes are found.
    pub mark: &'a str,
    /// How long the turn may take.
    pub limit: Duration,
}

/// The behaviour of the agent in the turn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CanaryReport {
    /// The agent, once its session was open.
    pub agent: Option<AgentInfo>,
    pub guard: Option<GuardMode>,
    /// Whether it has asked about the command.
    pub has_asked: bool,
    /// A tool that it ran without asking.
    pub ran_unasked: Option<String>,
    /// Why the turn did not end normally.
    pub failure: Option<String>,
}

impl Canary<'_> {
    /// Starts the agent, lets it take one turn with the prompt, and reports whether it asked before it ran a command. Then ends
    /// the agent with all its processes.
    ///
    /// # Errors
    /// When the agent cannot be started, or its processes cannot be ended. Other failures after the start are in the report.
    pub fn run(&self) -> io::Result<CanaryReport> {
        let link = AgentLink::spawn(&self.program)?;
        let root = link.child.running.pid();
        let mut run = CanaryRun::new(self, link);
        let done = run.run_to_end();
        run.link.child.close_input();
        process_tree::terminate(GRACE, || process_tree::subtree(root, Some(self.mark)))?;
        let _ = run.link.child.running.reap();
        done.map(|()| run.report)
    }
}

struct CanaryRun<'a> {
    canary: &'a Canary<'a>,
    link: AgentLink,
    machine: StateMachine,
    started: Instant,
    report: CanaryReport,
    /// When the turn began.
    prompted: Option<Instant>,
    is_over: bool,
}

impl<'a> CanaryRun<'a> {
    fn new(canary: &'a Canary<'a>, link: AgentLink) -> Self {
        let machine = StateMachine::new(StateMachineConfig {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            cwd: canary.program.cwd.to_string_lossy().into_owned(),
            mode: canary.mode.map(str::to_owned),
            resume: None,
            proof: Proof::Canary,
            refuse_unguarded: false,
            asks_for_all: false,
            usage: UsageScope::Turn,
        });
        let report = CanaryReport::default();
        Self { canary, link, machine, started: Instant::now(), report, prompted: None, is_over: false }
    }

    fn run_to_end(&mut self) -> io::Result<()> {
        self.handle(Event::Started);
        while !self.is_over {
            let of_turn = self.prompted.map(|begun| self.canary.limit.saturating_sub(begun.elapsed()));
            let of_machine = self.machine.due().map(|due| due.saturating_sub(self.started.elapsed()));
            let left = of_turn.into_iter().chain(of_machine).min();
            if of_turn == Some(Duration::ZERO) {
                self.fail(format!("the turn did not end within {} s", self.canary.limit.as_secs()));
            }
            self.wait(left)?;
            let has_ended = self.link.child.running.reap()?.is_some();
            let (_, frames) = self.link.read(&mut |_, _| ());
            for frame in frames {
                self.handle(Event::Line(frame));
            }
            self.link.write();
            if has_ended || self.link.child.is_stdout_closed() {
                let said = self.link.last_stderr();
                let said = if said.is_empty() { said } else { format!("; the last that it printed: {said}") };
                self.fail(format!("the agent has ended{said}"));
            }
            if left == Some(Duration::ZERO) {
                self.handle(Event::Tick);
            }
        }
        Ok(())
    }

    fn wait(&self, left: Option<Duration>) -> io::Result<()> {
        let mut watched = self.link.poll_fds();
        match poll(&mut watched, poll_timeout(left)) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn fail(&mut self, why: String) {
        if !self.is_over {
            self.report.failure = Some(why);
            self.is_over = true;
        }
    }

    fn handle(&mut self, event: Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            for effect in self.machine.step(event, self.started.elapsed()) {
                match effect {
                    Effect::Send(frame) => {
                        if let Err(why) = self.link.send(&frame) {
                            self.fail(why.to_owned());
                        }
                    }
                    Effect::Ask { question, request } => {
                        self.report.has_asked |= request.call.input().to_string().contains(self.canary.sign);
                        events.push_back(Event::Decided { question, choice: PermissionChoice::deny(None) });
                    }
                    Effect::Ready => {
                        self.prompted = Some(Instant::now());
                        events.push_back(Event::Request(0, Command::Prompt(self.canary.prompt.to_owned())));
                    }
                    Effect::Report(report) => self.note(report),
                    Effect::Fail(why) => self.fail(why),
                    Effect::Print(_) | Effect::Withdraw { .. } | Effect::Reply(..) => {}
                }
            }
        }
        self.link.write();
    }

    fn note(&mut self, report: Report) {
        match report {
            Report::Ready { agent, guard, .. } => {
                self.report.agent = Some(agent);
                self.report.guard = Some(guard);
            }
            Report::Guard(guard) => self.report.guard = Some(guard),
            Report::ToolEnded { call, permission: Permission::NotAsked }
                if call.input().to_string().contains(self.canary.sign) =>
            {
                self.report.ran_unasked.get_or_insert(call.describe());
            }
            Report::TurnEnded { .. } => self.is_over = true,
            Report::TurnFailed { why, .. } => self.fail(format!("the turn failed: {why}")),
            Report::TurnStarted
            | Report::Steered
            | Report::ToolEnded { .. }
            | Report::ToolChanged(_)
            | Report::ToolBegan
            | Report::ContextUsage(_) => {}
        }
    }
}
