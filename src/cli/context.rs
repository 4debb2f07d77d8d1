//! The context of a verb, and its answers.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use anyhow::Result;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::exit::Exit;
use super::fingerprint::Canonical;
use super::globals::Globals;
use fairway_actions::core::app::Mailed;
use fairway_actions::core::progress::{Progress, Telling};
use fairway_actions::core::trust;
use fairway_actions::queue::evidence::run::Relay;
use fairway_actions::sessions::{hand_started, prompt};
use fairway_actions::{Answer, App, IdempotencyKey};
use fairway_core::config::Project;
use fairway_core::domain::text_limits::MAX_BODY_BYTES;
use fairway_core::domain::{Actor, LaneName, Refusal, Role, RunId, SessionId, TaskId};
use fairway_core::env::{Env, vars};
use fairway_core::os;
use fairway_core::os::run_streaming::Stream;
use fairway_core::render::{Out, OutError, Relay as OutputRelay, escape_line};

/// The largest file that is read whole, in bytes.
const INPUT_MAX: usize = 256 << 20;

/// One call of the command line.
#[derive(Debug)]
pub struct Context {
    pub env: Rc<Env>,
    pub globals: Globals,
    pub out: Out,
    asked: Option<Canonical>,
    read: RefCell<Sha256>,
    has_noted_trust: Cell<bool>,
    mailed: RefCell<Vec<Mailed>>,
}

impl Context {
    /// `asked` is the canonical form of the command line. Its digest becomes a part of the fingerprint that is stored with an
    /// idempotency key. With `None`, the value of `--request-id` is ignored.
    pub fn new(env: Rc<Env>, globals: Globals, out: Out, asked: Option<Canonical>) -> Self {
        let (read, mailed) = (RefCell::new(Sha256::new()), RefCell::default());
        Self { env, globals, out, asked, read, has_noted_trust: Cell::new(false), mailed }
    }

    /// Opens the project for the actor that [`Self::actor`] determines. When that is no session, but an environment variable
    /// of a provider names the conversation of a live session, opens it for this session. The caller must first read all
    /// texts from files and stdin, because they are part of the fingerprint of the idempotency key.
    ///
    /// # Errors
    /// `no_project`, a broken configuration, or a variable with an invalid value.
    pub fn app(&self) -> Result<App> {
        let app = self.app_as(self.actor()?)?;
        if app.actor.session.is_some() || app.actor.run_id.is_some() {
            return Ok(app);
        }
        // For an agent that was started by hand, the provider's own variable names the session.
        match hand_started::find(&app)? {
            Some(actor) => self.app_as(actor),
            None => Ok(app),
        }
    }

    /// Opens the project for `actor`. Prints a note, once in a command, when a configuration that was trusted earlier is in
    /// force.
    ///
    /// # Errors
    /// `no_project`, a broken configuration.
    pub fn app_as(&self, actor: Actor) -> Result<App> {
        let app = self.app_without_note(actor)?;
        if let Some(kept) = app.layers.kept_text().filter(|_| !self.has_noted_trust.replace(true)) {
            self.out.note(&fairway_core::render::escape_controls(&trust::kept_text_note(&app, kept)));
        }
        Ok(app)
    }

    /// Like [`Self::app_as`], but without the note. For commands whose output says the same as the note.
    ///
    /// # Errors
    /// `no_project`, a broken configuration.
    pub fn app_without_note(&self, actor: Actor) -> Result<App> {
        let project = Project::discover(&self.env, self.globals.root.as_deref())?;
        let request = |actor: &Actor| {
            let (id, asked) = self.globals.request_id.as_ref().zip(self.asked.as_ref())?;
            let mut digest = self.read.borrow().clone();
            digest.update(asked.digest.clone().finalize());
            let of = |text: Option<String>| text.unwrap_or_default();
            let role = of(actor.role.as_ref().map(ToString::to_string));
            let lane = of(actor.lane.as_ref().map(ToString::to_string));
            let epoch = of(actor.epoch.map(|epoch| epoch.to_string()));
            for part in [&actor.name, &role, &lane, &epoch] {
                digest.update(part);
                digest.update([0]);
            }
            Some(IdempotencyKey {
                id: id.clone(),
                fingerprint: fairway_actions::core::fingerprint::of_command(
                    &asked.path,
                    &os::digest::hex(&digest.finalize()),
                ),
            })
        };
        let mut app = App::for_caller(Rc::clone(&self.env), project, actor, request)?;
        app.progress = self.progress();
        self.mailed.borrow_mut().push(Rc::clone(&app.mailed));
        Ok(app)
    }

    /// Shows the progress of a command on stderr: its state only on a terminal.
    fn progress(&self) -> Progress {
        let (out, is_terminal) = (self.out, self.env.terminal.stderr && !self.out.quiet);
        Progress::shown_by(move |telling| match telling {
            Telling::Note(text) => out.note(&escape_line(text)),
            Telling::State(text) if is_terminal => {
                let width = out.width.unwrap_or(80).saturating_sub(1);
                out.progress(&escape_line(text).chars().take(width).collect::<String>());
            }
            Telling::State(_) => {}
        })
    }

    /// Passes the output of a program on to stdout and stderr.
    pub fn relay(&self) -> Relay {
        let relay = OutputRelay::new(&self.out, self.env.terminal.stdout, self.env.terminal.stderr);
        Arc::new(move |stream, bytes: &[u8]| match stream {
            Stream::Out => relay.out(bytes),
            Stream::Err => relay.err(bytes),
        })
    }

    /// Delivers the messages that the command has queued for sessions, and prints why one waits. A failure leaves them queued.
    pub fn deliver_mailed(&self) {
        let mailed: BTreeSet<SessionId> = self.mailed.take().iter().flat_map(|mailed| mailed.take()).collect();
        if mailed.is_empty() {
            return;
        }
        let Ok(app) = self.app() else { return };
        app.mailed.replace(mailed);
        for note in prompt::deliver_mailed(&app) {
            self.out.note(&fairway_core::render::escape_controls(&note));
        }
    }

    /// Determines the actor from the global flags, and from the environment variables where no flag is given. When
    /// `--session` names a session other than the one in the environment, the role and the lane in the environment are
    /// ignored, because they belong to the other session.
    ///
    /// # Errors
    /// A variable with an invalid value.
    pub fn actor(&self) -> Result<Actor> {
        let env = &self.env;
        let around = env.var(vars::FAIRWAY_SESSION_ID).map(SessionId::parse).transpose()?;
        let asked = self.globals.session.as_ref().map(|session| SessionId::parse(session.as_str())).transpose()?;
        // The variables describe the session around the caller. Another one that a flag names has its own role and lane.
        let is_other = asked.is_some() && around.is_some() && asked != around;
        let session = asked.or(around);
        let var = |name| env.var(name).filter(|_| !is_other);
        let role = match &self.globals.role {
            Some(role) => Some(role.clone()),
            None => var(vars::FAIRWAY_ROLE).map(Role::parse).transpose()?,
        };
        let lane = var(vars::FAIRWAY_LANE).map(LaneName::parse).transpose()?;
        let name = match &session {
            Some(session) => session.to_string(),
            None => format!("{}@{}", os::user::name(), os::host::name()),
        };
        let run_id = env.var(vars::FAIRWAY_RUN_ID).map(RunId::parse);
        Ok(Actor { name, session, run_id, role, lane, epoch: self.globals.epoch })
    }

    /// Whether the role, lane and task in the environment belong to the actor. They do not when `--session` names another
    /// session.
    pub fn is_own_session(&self) -> bool {
        let own = self.env.var(vars::FAIRWAY_SESSION_ID);
        self.globals.session.as_ref().is_none_or(|session| own == Some(session.as_str()))
    }

    /// Reads the task id from the environment variable `FAIRWAY_TASK_ID`. Returns `None` when it is not set.
    ///
    /// # Errors
    /// A variable with an invalid value.
    pub fn task(&self) -> Result<Option<TaskId>, Refusal> {
        Ok(self.env.var(vars::FAIRWAY_TASK_ID).map(TaskId::parse).transpose()?)
    }

    /// Resolves a text argument: stdin when `text` or `file` is `-`, else `text` itself or the content of `file`. Returns
    /// `None` when neither is given. `what` names the text in errors.
    ///
    /// # Errors
    /// `usage` when both are given. An error when the input cannot be read or is not UTF-8.
    pub fn text(&self, what: &'static str, text: Option<String>, file: Option<&Path>) -> Result<Option<String>> {
        match (text, file) {
            (Some(_), Some(_)) => Err(Refusal::Usage { why: format!("give {what} once: as text or as a file") }.into()),
            (Some(dash), None) if dash == "-" => self.read(what, io::stdin().lock(), MAX_BODY_BYTES).map(Some),
            (Some(text), None) => Ok(Some(text)),
            (None, Some(dash)) if dash.as_os_str() == "-" => {
                self.read(what, io::stdin().lock(), MAX_BODY_BYTES).map(Some)
            }
            (None, Some(path)) => self.read(what, self.open(what, path)?, MAX_BODY_BYTES).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// Like [`Self::text`], but returns the exact bytes, which need not be UTF-8.
    ///
    /// # Errors
    /// `usage` when both are given. An error when the input cannot be read.
    pub fn bytes(&self, what: &'static str, text: Option<String>, file: Option<&Path>) -> Result<Option<Vec<u8>>> {
        let is_stdin = text.as_deref() == Some("-") || file.is_some_and(|file| file.as_os_str() == "-");
        match (text, file) {
            (Some(_), Some(_)) => Err(Refusal::Usage { why: format!("give {what} once: as text or as a file") }.into()),
            _ if is_stdin => self.read_bytes(what, io::stdin().lock(), MAX_BODY_BYTES).map(Some),
            (Some(text), None) => Ok(Some(text.into_bytes())),
            (None, Some(path)) => self.read_bytes(what, self.open(what, path)?, MAX_BODY_BYTES).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// Reads a whole file, or all of stdin when `path` is `-`.
    ///
    /// # Errors
    /// When it cannot be read, is not UTF-8 or is larger than [`INPUT_MAX`].
    pub fn input(&self, what: &'static str, path: &Path) -> Result<String> {
        self.input_of(what, path, INPUT_MAX)
    }

    /// Like [`Self::input`], but with a limit of `most` bytes.
    pub fn input_of(&self, what: &'static str, path: &Path, most: usize) -> Result<String> {
        let text = if path.as_os_str() == "-" {
            self.read(what, io::stdin().lock(), most)?
        } else {
            self.read(what, self.open(what, path)?, most)?
        };
        if text.len() > most {
            let why = format!("is larger than {} MiB; split it", most >> 20);
            return Err(Refusal::invalid(what, why).into());
        }
        Ok(text)
    }

    fn open(&self, what: &'static str, path: &Path) -> Result<fs::File, Refusal> {
        let file = self.env.cwd.join(path);
        fs::File::open(&file).map_err(|error| Refusal::FileUnreadable {
            what,
            file: path.display().to_string(),
            why: error.to_string(),
            // The nearest directory that is there.
            dir: file.ancestors().skip(1).find(|dir| dir.is_dir()).unwrap_or(Path::new("/")).display().to_string(),
        })
    }

    fn read(&self, what: &'static str, from: impl Read, most: usize) -> Result<String> {
        let bytes = self.read_bytes(what, from, most)?;
        Ok(String::from_utf8(bytes).map_err(|_| Refusal::invalid(what, "is not valid UTF-8"))?)
    }

    fn read_bytes(&self, what: &'static str, from: impl Read, most: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        // One byte more than the limit, so that a longer input is refused and never cut silently.
        let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
        from.take(limit)
            .read_to_end(&mut bytes)
            .map_err(|error| Refusal::invalid(what, format!("cannot be read: {error}")))?;
        let mut digest = self.read.borrow_mut();
        digest.update(what);
        digest.update([0]);
        digest.update(&bytes);
        digest.update([0]);
        drop(digest);
        Ok(bytes)
    }

    pub fn notes(&self, answer: &Answer) {
        for note in &answer.notes {
            self.out.note(&fairway_core::render::escape_controls(note));
        }
    }

    /// Prints the result of a command that changes something: its document with `--json`, its ids with `--quiet`, else its
    /// line of text. Then prints its notes, even when the reader of the output has closed the pipe.
    pub fn answer(&self, answer: &Answer) -> Result<Exit> {
        let shown = if self.out.json {
            self.out.document(&answer.document)
        } else if self.out.quiet {
            self.out.text(&fairway_core::render::escape_controls(
                &answer.ids.iter().map(|id| format!("{id}\n")).collect::<String>(),
            ))
        } else {
            self.out.line(&fairway_core::render::escape_controls(&answer.line))
        };
        // The notes do not depend on a reader of the result.
        self.notes(answer);
        shown?;
        Ok(0)
    }

    /// Prints the result of a query: the document with `--json`, the ids with `--quiet`, else the text from `words`.
    pub fn show<T: Serialize + ?Sized>(
        &self,
        document: &T,
        ids: impl FnOnce() -> Vec<String>,
        words: impl FnOnce() -> String,
    ) -> Result<Exit> {
        if !self.out.json {
            return self.show_text(ids, words);
        }
        self.out.document(&document)?;
        Ok(0)
    }

    /// Like [`Self::show`], for a command that prints its JSON itself: ignores `--json`.
    pub fn show_text(&self, ids: impl FnOnce() -> Vec<String>, words: impl FnOnce() -> String) -> Result<Exit> {
        if self.out.quiet {
            self.out.text(&fairway_core::render::escape_controls(
                &ids().iter().map(|id| format!("{id}\n")).collect::<String>(),
            ))?;
        } else {
            self.out.text(&words())?;
        }
        Ok(0)
    }
}

/// Returns `exit` even when the reader of the output has closed the pipe. For commands whose exit code is itself an answer.
///
/// # Errors
/// Any other error of printing.
pub fn exit_even_if_closed(exit: Exit, shown: Result<Exit>) -> Result<Exit> {
    match shown {
        Err(error) if !matches!(error.downcast_ref(), Some(OutError::Closed)) => Err(error),
        _ => Ok(exit),
    }
}
