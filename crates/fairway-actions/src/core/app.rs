//! The context of a use case: environment, project, settings, store and actor.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use anyhow::Result;

pub use super::idempotency::IdempotencyKey;

use super::answer::Answer;
use super::landed_commits::LandedCommits;
use super::progress::Progress;
use super::snapshot_after_write::AfterWrite;
use super::{errors, lookup, open_store, session_events};
use fairway_core::config::{ConfigError, Layers, Project, Settings, load_in_force};
use fairway_core::domain::{Actor, SessionId};
use fairway_core::env::Env;
use fairway_core::os::notify::ChangeWaiter;
use fairway_core::os::{digest, files, host};
use fairway_core::store::{ReadTx, Store, StoreError, WriteTx, integrity, tasks};

/// The sessions for which a command has queued messages that are not delivered yet.
pub type Mailed = Rc<RefCell<BTreeSet<SessionId>>>;

type Change<'c> = Box<dyn FnOnce(&WriteTx<'_>) -> Result<Answer> + 'c>;

/// Everything that a use case needs. The store is opened at first use, and shared with the clones of the `with_…`
/// methods.
#[derive(Debug)]
pub struct App {
    pub env: Rc<Env>,
    pub project: Rc<Project>,
    /// The configuration files behind `settings`.
    pub layers: Rc<Layers>,
    pub settings: Rc<Settings>,
    pub actor: Actor,
    /// The key of the command's `--request-id`, when it has one.
    pub idempotency_key: Option<IdempotencyKey>,
    /// Which landings of other hosts this host's repository has.
    pub landed_here: Rc<LandedCommits>,
    pub mailed: Mailed,
    pub progress: Progress,
    writer: Rc<OnceCell<Store>>,
    reader: Rc<OnceCell<Store>>,
    after_write: Rc<AfterWrite>,
}

impl App {
    /// The context of one command. Does not open the store yet.
    pub fn new(
        env: Rc<Env>,
        project: Project,
        layers: Layers,
        settings: Settings,
        actor: Actor,
        request: Option<IdempotencyKey>,
    ) -> Self {
        let (project, writer, reader) = (Rc::new(project), Rc::default(), Rc::default());
        Self {
            after_write: AfterWrite::new(&project, &writer, &reader),
            env,
            project,
            layers: Rc::new(layers),
            settings: Rc::new(settings),
            actor,
            idempotency_key: request,
            landed_here: Rc::default(),
            mailed: Rc::default(),
            progress: Progress::default(),
            writer,
            reader,
        }
    }

    /// Like [`App::new`], but loads the configuration that is in force.
    pub fn in_force(
        env: Rc<Env>,
        project: Project,
        actor: Actor,
        request: Option<IdempotencyKey>,
    ) -> Result<Self, ConfigError> {
        let (layers, settings) = load_in_force(&project, &env)?;
        Ok(Self::new(env, project, layers, settings, actor, request))
    }

    /// Like [`App::in_force`], for a person or a session. With a store on a server, a digest of this machine is added to a
    /// person's name. `request` makes the idempotency key for the resulting actor.
    pub fn for_caller(
        env: Rc<Env>,
        project: Project,
        actor: Actor,
        request: impl FnOnce(&Actor) -> Option<IdempotencyKey>,
    ) -> Result<Self, ConfigError> {
        let (layers, settings) = load_in_force(&project, &env)?;
        let actor = match machine_digest(&settings) {
            Some(machine) => actor.on_machine(&machine),
            None => actor,
        };
        let request = request(&actor);
        Ok(Self::new(env, project, layers, settings, actor, request))
    }

    /// This context for another actor, with the same open store.
    #[must_use]
    pub fn with_actor(&self, actor: Actor, request: Option<IdempotencyKey>) -> Self {
        Self {
            env: Rc::clone(&self.env),
            project: Rc::clone(&self.project),
            layers: Rc::clone(&self.layers),
            settings: Rc::clone(&self.settings),
            actor,
            idempotency_key: request,
            landed_here: Rc::clone(&self.landed_here),
            mailed: Rc::clone(&self.mailed),
            progress: self.progress.clone(),
            writer: Rc::clone(&self.writer),
            reader: Rc::clone(&self.reader),
            after_write: Rc::clone(&self.after_write),
        }
    }

    /// This context with other settings and the same open store.
    #[must_use]
    pub fn with_settings(&self, layers: Layers, settings: Settings) -> Self {
        let (layers, settings) = (Rc::new(layers), Rc::new(settings));
        Self { layers, settings, ..self.with_actor(self.actor.clone(), self.idempotency_key.clone()) }
    }

    /// This context for another project, whose store is not opened yet. The configuration stays that of this context's project.
    #[must_use]
    pub fn with_project(&self, project: Project) -> Self {
        let project = Rc::new(project);
        let (writer, reader) = (Rc::default(), Rc::default());
        let after_write = AfterWrite::new(&project, &writer, &reader);
        Self {
            project,
            landed_here: Rc::default(),
            mailed: Rc::default(),
            writer,
            reader,
            after_write,
            ..self.with_actor(self.actor.clone(), self.idempotency_key.clone())
        }
    }

    /// This context with the store not opened yet, for use after the store's file was replaced.
    #[must_use]
    pub fn with_fresh_store(&self) -> Self {
        self.with_project(Project::clone(&self.project))
    }

    /// Runs `query` on one snapshot. A missing store counts as an empty one.
    pub fn read<T>(&self, query: impl FnOnce(&ReadTx<'_>) -> Result<T>) -> Result<T> {
        self.store_for_reading()?.read(query)
    }

    /// Like [`App::read`], for many statements. On a server `query` may run several times, see [`Store::read_together`].
    pub fn read_together<T>(&self, query: impl FnMut(&ReadTx<'_>) -> Result<T>) -> Result<T> {
        self.store_for_reading()?.read_together(query)
    }

    /// The stored answer of a repeated `--request-id`. `None` when the command has no `--request-id`, when the request is new,
    /// and when an earlier one has no answer yet.
    ///
    /// # Errors
    /// `request_reused` when the id was used for another command.
    pub fn stored_response(&self) -> Result<Option<Answer>> {
        match &self.idempotency_key {
            Some(key) => self.read(|tx| key.stored_response(tx)),
            None => Ok(None),
        }
    }

    /// Writes the intent of a command that changes something outside of the store. Returns the stored answer of a repeated
    /// `--request-id`. For an earlier intent without an answer it fails with `request_open`; `became` is the sentence in that
    /// error about what is known of the earlier try. Without a `--request-id` it does nothing.
    ///
    /// # Errors
    /// `request_reused`, `request_open`.
    pub fn record_intent(&self, became: &str) -> Result<Option<Answer>> {
        match &self.idempotency_key {
            Some(key) => self.transaction(|tx| key.record_intent(tx, || Ok((became.to_owned(), false)))),
            None => Ok(None),
        }
    }

    /// Opens the store at the first call. A store that was opened for writing is used here too.
    pub fn store_for_reading(&self) -> Result<&Store> {
        if let Some(store) = self.writer.get() {
            return Ok(store);
        }
        if self.reader.get().is_none() {
            let _ =
                self.reader.set(self.opened(open_store::for_reading(&self.env, &self.project, &self.settings.store))?);
        }
        self.reader.get().ok_or_else(|| errors::internal("the store was not kept"))
    }

    /// Opens the store at the first call, and creates it if it is missing. A store that was opened for reading is used here too.
    pub fn store_for_writing(&self) -> Result<&Store> {
        if let Some(store) = self.reader.get().filter(|store| !store.is_missing()) {
            return Ok(store);
        }
        if self.writer.get().is_none() {
            let _ =
                self.writer.set(self.opened(open_store::for_writing(&self.env, &self.project, &self.settings.store))?);
        }
        self.writer.get().ok_or_else(|| errors::internal("the store was not kept"))
    }

    /// Completes the error of a store that lost events: its hint offers a snapshot only if there is one.
    fn opened(&self, result: Result<Store, StoreError>) -> Result<Store> {
        result.map_err(|error| open_store::with_way_back(&self.project, error))
    }

    /// A waiter that every change of the store wakes. Create it before the first query: otherwise a change between the query and
    /// the wait is missed.
    pub fn waiter(&self, noun: &str) -> Result<ChangeWaiter> {
        let store = self.store_for_writing()?;
        let dir = store.wake_dir();
        // Another container, or a killed process, may have used the same pid.
        let name = format!("{noun}-{}-{}", std::process::id(), self.env.ids.random_suffix());
        files::private_dir(dir)?;
        Ok(store.listen(ChangeWaiter::bind(dir, &name)?)?)
    }

    /// Runs `change` in one transaction and stores its answer under the `--request-id`. For a repeated `--request-id` it returns
    /// the stored answer and does not run `change`. An acting session must be registered; the change counts as its heartbeat,
    /// which renews its leases and revives it. On an error nothing is written.
    pub fn mutate(&self, change: impl FnOnce(&WriteTx<'_>) -> Result<Answer>) -> Result<Answer> {
        self.mutate_as(true, Box::new(change))
    }

    /// Like [`App::mutate`], without a heartbeat: for changes that register sessions.
    pub fn mutate_unattributed(&self, change: impl FnOnce(&WriteTx<'_>) -> Result<Answer>) -> Result<Answer> {
        self.mutate_as(false, Box::new(change))
    }

    /// Not generic, so that it is compiled once for all changes.
    fn mutate_as(&self, is_heartbeat: bool, change: Change<'_>) -> Result<Answer> {
        let attributed = |tx: &WriteTx<'_>| {
            if is_heartbeat {
                self.record_act(tx)?;
            }
            change(tx)
        };
        let Some(key) = &self.idempotency_key else { return self.transaction(attributed) };
        let done = self.transaction(|tx| {
            if let Some(answer) = key.stored_response(tx)? {
                return Ok(answer);
            }
            let answer = attributed(tx)?;
            key.store_response(tx, &answer)?;
            Ok(answer)
        });
        done.map_err(with_request_id)
    }

    /// Like [`App::mutate`], for one of several steps that are committed separately and that no `--request-id` covers.
    pub fn mutate_step(&self, change: impl FnOnce(&WriteTx<'_>) -> Result<()>) -> Result<()> {
        self.transaction(|tx| {
            self.record_act(tx)?;
            change(tx)
        })
    }

    /// Records that the acting session, if any, has done something, and renews its leases.
    pub(crate) fn record_act(&self, tx: &WriteTx<'_>) -> Result<()> {
        if let Some(session) = &self.actor.session {
            session_events::acted(tx, &lookup::session(tx, session)?, self.actor.run_id.as_ref())?;
            tasks::renew_leases(tx, &self.actor.name, None)?;
        }
        Ok(())
    }

    /// Asks for a snapshot of the store at the end of the command, even if none is due: the imported tasks may exist nowhere
    /// else.
    pub fn snapshot_after_import(&self) {
        self.after_write.imported(self.env.now());
    }

    /// Corrects leases and heartbeats that lie in the future because the clock that wrote them was ahead: they count as written
    /// now. Writes only if there are any.
    pub fn count_future_times_from_now(&self) -> Result<()> {
        let now = self.store_for_reading()?.time(self.env.now())?;
        if self.read(|tx| Ok(integrity::has_future_times(tx, now)?))? {
            self.transaction(|tx| Ok(integrity::count_future_times_from_now(tx)?))?;
        }
        Ok(())
    }

    /// Runs `change` in one transaction, without a heartbeat, and stores no answer under the `--request-id`: for one step of a
    /// command that also has effects outside of the store. On an error nothing is written.
    pub fn transaction<T>(&self, change: impl FnOnce(&WriteTx<'_>) -> Result<T>) -> Result<T> {
        let (done, mailed) = self
            .store_for_writing()?
            .write(self.env.clock, &self.actor.name, |tx| change(tx).map(|done| (done, tx.mailed())))?;
        self.mailed.borrow_mut().extend(mailed);
        self.after_write.wrote(self.env.now());
        Ok(done)
    }
}

/// A digest of the machine's id, for a store on a server. It is the same for all containers of a machine, so that a
/// person's claim outlives them.
fn machine_digest(settings: &Settings) -> Option<String> {
    let id = settings.store.is_on_server().then(host::identity_to_record)?.id?;
    let machine = id.split_once('/').map_or(id.as_str(), |(machine, _)| machine);
    Some(digest::sha256_hex(format!("fairway claimant {machine}").as_bytes()))
}

/// Adds to an error of unknown outcome that the change has a request id, so that a repeat is safe.
fn with_request_id(error: anyhow::Error) -> anyhow::Error {
    let mut error = error;
    if let Some(StoreError::OutcomeUnknown { has_request_id, .. }) = error.downcast_mut() {
        *has_request_id = true;
    }
    error
}
