//! The setup of a lane's worktree: the commands of `[lanes] setup`, once before the first agent, and those of `[lanes] teardown`
//! before its end. The result is kept beside git's record of the worktree, and goes with it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{fs, io};

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::checkout::{self, Presence};
use super::{copies, edit};
use crate::core::{errors, lane_env, lookup, trust, work_sandbox};
use crate::queue::evidence::run::{Relay, how};
use crate::{Answer, App};
use fairway_core::config::project::git_dir;
use fairway_core::domain::excerpt::end_of_output;
use fairway_core::domain::lane::{Lane, SetupState};
use fairway_core::domain::{Event, EventKind, LaneName, Refusal, ansi};
use fairway_core::os::digest::sha256_hex;
use fairway_core::os::exit_reason::ExitReason;
use fairway_core::os::head_tail_buffer::HeadTailBuffer;
use fairway_core::os::lock::FileLock;
use fairway_core::os::run_streaming::{self, StreamedProgram};
use fairway_core::os::{executable, files};
use fairway_core::store::WriteTx;
use fairway_core::wire::{LaneSetupView, LaneView};

/// The most output that is kept of a setup, in bytes.
const LOG_LIMIT_BYTES: usize = 1024 * 1024;

/// How much longer than its own time limits the setup of another command is waited for.
const EXTRA_WAIT: Duration = Duration::from_secs(60);

/// The commands that run in a lane's worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaneCommands {
    Setup,
    Teardown,
}

/// What is kept of the last setup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Kept {
    /// The digest of the files of `setup_when_changed` at its begin.
    inputs: String,
    result: Outcome,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    /// It has begun; where it runs no more, it was interrupted.
    Begun,
    Ready,
    Failed(Failure),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Failure {
    command: String,
    how: String,
    output: String,
}

/// A worktree, with the paths of the files about its setup.
struct Place {
    dir: PathBuf,
    kept: PathBuf,
    log: PathBuf,
    lock: PathBuf,
}

impl Place {
    /// The place of a lane's setup; `None` when it has no worktree here.
    fn of(app: &App, lane: &Lane) -> Option<Self> {
        let Presence::Present(dir) = checkout::presence(app, lane) else { return None };
        let own = git_dir(&dir)?;
        let [kept, log, lock] = ["json", "log", "lock"].map(|end| own.join(format!("fairway-setup.{end}")));
        Some(Self { dir, kept, log, lock })
    }

    fn read(&self) -> Option<Kept> {
        serde_json::from_slice(&fs::read(&self.kept).ok()?).ok()
    }

    fn write(&self, kept: &Kept) -> Result<()> {
        let text = serde_json::to_vec(kept).map_err(errors::internal)?;
        Ok(files::write_atomic(&self.kept, &text, 0o600)?)
    }

    fn is_running(&self) -> bool {
        FileLock::is_taken(&self.lock)
    }

    /// The digest of the files whose change makes a new setup necessary.
    fn inputs(&self, app: &App) -> String {
        let digest = |path: &String| fs::read(self.dir.join(path)).map(|bytes| sha256_hex(&bytes)).unwrap_or_default();
        sha256_hex(app.settings.lanes.setup_when_changed.iter().map(digest).collect::<Vec<_>>().join(" ").as_bytes())
    }

    fn view(&self, app: &App) -> LaneSetupView {
        let (state, failure) = match self.read() {
            _ if self.is_running() => (SetupState::SettingUp, None),
            Some(kept) if kept.inputs == self.inputs(app) => match kept.result {
                Outcome::Begun => (SetupState::NotSetUp, None),
                Outcome::Ready => (SetupState::Ready, None),
                Outcome::Failed(failure) => (SetupState::Failed, Some(failure)),
            },
            _ => (SetupState::NotSetUp, None),
        };
        let log = self.log.exists().then(|| self.log.display().to_string());
        let Some(Failure { command, how, output }) = failure else {
            return LaneSetupView { state, command: None, how: None, output: None, log };
        };
        LaneSetupView { state, command: Some(command), how: Some(how), output: Some(output), log }
    }

    fn failed(&self, lane: &LaneName, which: LaneCommands, failure: Failure) -> Refusal {
        let (lane, log, Failure { command, how, output }) = (lane.clone(), self.log.display().to_string(), failure);
        match which {
            LaneCommands::Setup => Refusal::SetupFailed { lane, command, how, output, log },
            LaneCommands::Teardown => Refusal::TeardownFailed { lane, command, how, output, log },
        }
    }
}

/// Whether a lane's worktree was set up; `None` without commands for that, and for a worktree that Fairway did not make or that
/// is not here.
pub fn view(app: &App, lane: &Lane) -> Option<LaneSetupView> {
    let has_setup = lane.owns_worktree && !app.settings.lanes.setup.is_empty();
    has_setup.then(|| Place::of(app, lane)).flatten().map(|place| place.view(app))
}

/// The setups of these lanes that are not ready, by lane.
pub(crate) fn unready(app: &App, lanes: &[Lane]) -> BTreeMap<LaneName, LaneSetupView> {
    let found = lanes.iter().filter_map(|lane| Some((lane.name.clone(), view(app, lane)?)));
    found.filter(|(_, setup)| setup.state != SetupState::Ready).collect()
}

/// Whether the setup or the teardown of a lane runs now.
pub(super) fn is_running(app: &App, lane: &Lane) -> bool {
    Place::of(app, lane).is_some_and(|place| place.is_running())
}

/// Makes the worktree of a lane ready for an agent: ignored files are copied and the setup runs, unless that was done. Returns
/// notes. Does nothing for a worktree that Fairway did not make.
///
/// # Errors
/// `setup_failed`, also when an earlier one has failed; `not_set_up`; `copy_failed`; `interrupted`.
pub(crate) fn ensure(app: &App, lane: &Lane) -> Result<Vec<String>> {
    let Some(place) = Some(lane).filter(|lane| lane.owns_worktree).and_then(|lane| Place::of(app, lane)) else {
        return Ok(Vec::new());
    };
    let mut notes = if copies::are_made(&place.dir) { Vec::new() } else { copies::copy_missing(app, &place.dir)? };
    let commands = &app.settings.lanes.setup;
    let is_ready = |place: &Place| match place.read().filter(|kept| kept.inputs == place.inputs(app)) {
        Some(Kept { result: Outcome::Ready, .. }) => Ok(true),
        Some(Kept { result: Outcome::Failed(failure), .. }) => {
            Err(place.failed(&lane.name, LaneCommands::Setup, failure))
        }
        _ => Ok(false),
    };
    if commands.is_empty() || !place.is_running() && is_ready(&place)? {
        return Ok(notes);
    }
    let last = run_apart(app, lane, &[])?;
    if !is_ready(&place)? {
        return Err(Refusal::LaneNotSetUp { lane: lane.name.clone(), why: last }.into());
    }
    notes.push(format!("set up the lane {}: {}", lane.name, commands.join("; ")));
    Ok(notes)
}

/// Forgets that a worktree was set up: parts of it are removed.
pub(super) fn forget(app: &App, lane: &Lane) -> Result<()> {
    match Place::of(app, lane).map(|place| fs::remove_file(place.kept)) {
        Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// Runs the teardown of a worktree that is to be removed, if its setup ever began. A failure is told, and keeps nothing.
pub(super) fn tear_down(app: &App, lane: &Lane) {
    let settings = &app.settings.lanes;
    let Some(place) = Place::of(app, lane).filter(|_| !settings.teardown.is_empty()) else { return };
    if !settings.setup.is_empty() && place.read().is_none() {
        return;
    }
    let why = match run_apart(app, lane, &["--teardown"]) {
        Ok(_) if place.read().is_none() => return,
        Ok(last) => last,
        Err(error) => error.to_string(),
    };
    app.progress.note(&format!("the teardown of the lane {} has failed: {why}", lane.name));
}

/// Runs `lane setup` as a process of its own and returns its last line: it ends every process below its own, and agents may be
/// below this one. Fails with `interrupted`.
fn run_apart(app: &App, lane: &Lane, more: &[&str]) -> Result<String> {
    let own = executable::current_executable().map_err(errors::internal)?;
    let root = app.project.root.clone().into_os_string();
    let mut argv = vec![own.into_os_string(), "--root".into(), root];
    argv.extend(["lane", "setup", lane.name.as_str()].iter().chain(more).map(OsString::from));
    let program = StreamedProgram {
        argv: &argv,
        env: &[],
        dir: &app.project.root,
        timeout: None,
        merge_output: true,
        is_alone: false,
    };
    let last = Arc::new(Mutex::new(String::new()));
    let (seen, name, progress) = (Arc::clone(&last), lane.name.clone(), app.progress.clone());
    let ran = run_streaming::run(&program, move |_, bytes| {
        if let Some(line) = end_of_output(bytes).lines().last() {
            progress.state(&format!("{name}: {line}"));
            line.clone_into(&mut seen.lock().unwrap_or_else(PoisonError::into_inner));
        }
    });
    app.progress.state("");
    ran?;
    let last = last.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(last.clone())
}

/// Runs the setup of a lane, or its teardown. A setup that was done is not repeated, unless `again`. The output goes to `relay`
/// while the commands run.
///
/// # Errors
/// `setup_failed`, `teardown_failed`, `no_worktree`, `untrusted`, `in_use`, `interrupted`.
pub fn run(app: &App, name: &LaneName, which: LaneCommands, again: bool, relay: &Relay) -> Result<Answer> {
    trust::require(app)?;
    let lane = app.read(|tx| lookup::lane(tx, name))?;
    checkout::dir(app, &lane, &["lane", "setup", name.as_str()])?;
    let Some(place) = Place::of(app, &lane) else {
        return Err(Refusal::LaneWithoutWorktree { lane: name.clone() }.into());
    };
    let settings = &app.settings.lanes;
    let (commands, kind, done) = match which {
        LaneCommands::Setup => (&settings.setup, EventKind::LaneSetUp, format!("set up lane {name}")),
        LaneCommands::Teardown => (&settings.teardown, EventKind::LaneTornDown, format!("tore lane {name} down")),
    };
    let limit = settings.setup_timeout.saturating_mul(u32::try_from(commands.len()).unwrap_or(u32::MAX));
    let Some(held) = FileLock::acquire_within(&place.lock, limit.saturating_add(EXTRA_WAIT))? else {
        let by = "another command sets it up".to_owned();
        return Err(Refusal::InUse { noun: "lane", id: name.to_string(), by }.into());
    };
    let answer = |tx: &WriteTx<'_>, line: String| {
        let lane_view = LaneView { setup: Some(view(app, &lane)), ..edit::view(tx, name)? };
        Answer::new(&lane_view, name, line)
    };
    let inputs = place.inputs(app);
    let before = place.read().filter(|kept| kept.inputs == inputs).map(|kept| kept.result);
    if which == LaneCommands::Setup && before == Some(Outcome::Ready) && !again {
        drop(held);
        return app.mutate(|tx| answer(tx, format!("unchanged: lane {name} is set up already")));
    }
    let copied = if which == LaneCommands::Setup { copies::copy_missing(app, &place.dir)? } else { Vec::new() };
    place.write(&Kept { inputs: inputs.clone(), result: Outcome::Begun })?;
    if which == LaneCommands::Setup {
        let begun = Event::new(EventKind::LaneSettingUp).lane(Some(name));
        app.transaction(|tx| Ok::<_, anyhow::Error>(tx.record(&begun).map(drop)?))?;
    }
    // Programs that outlive a killed setup keep the lock: the next one waits for their end.
    let failure = held.shared_with_children(|| run_commands(app, &lane, &place, commands, relay))??;
    match (which, &failure) {
        (LaneCommands::Teardown, None) => fs::remove_file(&place.kept)?,
        (LaneCommands::Teardown, Some(_)) => {}
        (LaneCommands::Setup, None) => place.write(&Kept { inputs, result: Outcome::Ready })?,
        (LaneCommands::Setup, Some(failure)) => {
            place.write(&Kept { inputs, result: Outcome::Failed(failure.clone()) })?;
        }
    }
    drop(held);
    let (command, how) = failure.as_ref().map(|failure| (&*failure.command, &*failure.how)).unzip();
    let event = || Event::new(kind).lane(Some(name)).with("command", command).with("how", how);
    match failure.clone() {
        None => app.mutate(|tx| {
            tx.record(&event())?;
            Ok(answer(tx, done)?.with_notes(copied))
        }),
        Some(failure) => {
            app.transaction(|tx| Ok::<_, anyhow::Error>(tx.record(&event()).map(drop)?))?;
            Err(place.failed(name, which, failure).into())
        }
    }
}

/// Runs the commands one after the other, until one fails, and keeps their output in the log. Returns the failed one.
fn run_commands(app: &App, lane: &Lane, place: &Place, commands: &[String], relay: &Relay) -> Result<Option<Failure>> {
    let settings = &app.settings.lanes;
    let sandbox = work_sandbox::of_lane(lane).filter(|_| !settings.setup_outside);
    let env = lane_env::of_worktree(app, lane.name.as_str(), &place.dir)?;
    let names = lane_env::names(&env);
    let prefix = sandbox.map(|own| work_sandbox::prefix(app, own.class, work_sandbox::Apart::Lane(&own.lane), &names));
    let prefix = prefix.transpose()?.unwrap_or_default();
    let (mut log, mut failure) = (Vec::new(), None);
    for command in commands {
        let shell = ["/bin/sh", "-c", &lane_env::with_port(command, &env)].map(OsString::from);
        let argv: Vec<OsString> = prefix.iter().cloned().chain(shell).collect();
        let program = StreamedProgram {
            argv: &argv,
            env: &env,
            dir: &place.dir,
            timeout: Some(settings.setup_timeout),
            merge_output: true,
            is_alone: true,
        };
        let kept = Arc::new(Mutex::new(HeadTailBuffer::new(LOG_LIMIT_BYTES)));
        let (seen, relay) = (Arc::clone(&kept), Arc::clone(relay));
        let ran = run_streaming::run(&program, move |stream, bytes| {
            seen.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
            relay(stream, bytes);
        })?;
        let output = kept.lock().unwrap_or_else(PoisonError::into_inner).to_bytes();
        log.extend([b"$ ", command.as_bytes(), b"\n", &output].concat());
        if ran.exit != ExitReason::Code(0) {
            let (how, output) = (how(ran.exit, settings.setup_timeout), end_of_output(&output));
            failure = Some(Failure { command: command.clone(), how, output });
            break;
        }
    }
    files::write_atomic(&place.log, ansi::visible_text(&String::from_utf8_lossy(&log)).as_bytes(), 0o600)?;
    Ok(failure)
}
