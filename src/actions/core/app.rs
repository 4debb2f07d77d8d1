//! The context of a use case: environment, project, settings, store and actor.

use std::{cell::OnceCell, rc::Rc};

use anyhow::Result;

pub use super::idempotency::IdempotencyKey;

use super::{
    after_write::AfterWrite, answer::Answer, errors, keepalive, landed_commits::LandedCommits, lookup, open_store,
};
use crate::{
    config::{ConfigError, Layers, Project, Settings, load_in_force},
    domain::Actor,
    env::Env,
    os::{digest, files, host, notify::ChangeWaiter},
    store::{ReadTx, Store, StoreError, WriteTx, integrity, tasks},
};

/// A change and its answer.
type Change<'c> = Box<dyn FnOnce(&WriteTx<'_>) -> Result<Answer> + 'c>;

/// Everything a use case needs. It opens the store at first use; clones by the `with_…` methods share the open store.
#[derive(Debug)]
pub struct App {
    /// The process environment: variables, clock, random ids.
    pub env: Rc<Env>,
    /// The project's paths.
    pub project: Rc<Project>,
    /// The configuration layers behind `settings`.
    pub layers: Rc<Layers>,
    /// The effective settings.
    pub settings: Rc<Settings>,
    pub actor: Actor,
    /// The idempotency key of a `--request-id`, if given.
    pub idempotency_key: Option<IdempotencyKey>,
    /// What this host's repository has of what others have landed.
    pub landed_here: Rc<LandedCommits>,
    writer: Rc<OnceCell<Store>>,
    reader: Rc<OnceCell<Store>>,
    after_write: Rc<AfterWrite>,
}

impl App {
    /// The context of one command. Opens nothing yet.
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
            writer,
            reader,
        }
    }

    /// The context of one command under the configuration in force. Opens nothing yet.
    pub fn in_force(
        env: Rc<Env>,
        project: Project,
        actor: Actor,
        request: Option<IdempotencyKey>,
    ) -> Result<Self, ConfigError> {
        let (layers, settings) = load_in_force(&project, &env)?;
        Ok(Self::new(env, project, layers, settings, actor, request))
    }

    /// As [`App::in_force`], for a caller whose name is that of a person or of a session. On a server a person's name tells the
    /// machine, too. `request` makes the idempotency key of the actor.
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

    /// This context with another actor, for callers that act for several. Shares the open store.
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
            writer: Rc::clone(&self.writer),
            reader: Rc::clone(&self.reader),
            after_write: Rc::clone(&self.after_write),
        }
    }

    /// This context with newly read settings. Shares the open store.
    #[must_use]
    pub fn with_settings(&self, layers: Layers, settings: Settings) -> Self {
        let (layers, settings) = (Rc::new(layers), Rc::new(settings));
        Self { layers, settings, ..self.with_actor(self.actor.clone(), self.idempotency_key.clone()) }
    }

    /// This context for the project at another path, with nothing open yet.
    #[must_use]
    pub fn with_project(&self, project: Project) -> Self {
        let project = Rc::new(project);
        let (writer, reader) = (Rc::default(), Rc::default());
        let after_write = AfterWrite::new(&project, &writer, &reader);
        Self {
            project,
            landed_here: Rc::default(),
            writer,
            reader,
            after_write,
            ..self.with_actor(self.actor.clone(), self.idempotency_key.clone())
        }
    }

    /// This context with nothing open yet, for use after the store file was replaced.
    #[must_use]
    pub fn with_fresh_store(&self) -> Self {
        self.with_project(Project::clone(&self.project))
    }

    /// Runs `query` on one snapshot. A missing store answers as an empty one.
    pub fn read<T>(&self, query: impl FnOnce(&ReadTx<'_>) -> Result<T>) -> Result<T> {
        self.store_for_reading()?.read(query)
    }

    /// As [`App::read`], for a look that asks many statements: on a server `query` runs several times, see [`Store::read_together`].
    pub fn read_together<T>(&self, query: impl FnMut(&ReadTx<'_>) -> Result<T>) -> Result<T> {
        self.store_for_reading()?.read_together(query)
    }

    /// The stored answer of a repeated `--request-id`.
    ///
    /// # Errors
    /// `request_reused`; as the store fails.
    pub fn stored_response(&self) -> Result<Option<Answer>> {
        match &self.idempotency_key {
            Some(key) => self.read(|tx| key.stored_response(tx)),
            None => Ok(None),
        }
    }

    /// Writes the intent of a command with effects outside of the store; `Some` is the stored answer of a repeated
    /// `--request-id`. `became` describes an earlier intent without an answer, whose progress is unknown.
    ///
    /// # Errors
    /// `request_reused`, `request_pending`; as the store fails.
    pub fn record_intent(&self, became: &str) -> Result<Option<Answer>> {
        match &self.idempotency_key {
            Some(key) => self.transaction(|tx| key.record_intent(tx, || Ok((became.to_owned(), false)))),
            None => Ok(None),
        }
    }

    /// The store for reading. A store that [`App::mutate`] has opened meanwhile is reused.
    pub fn store_for_reading(&self) -> Result<&Store> {
        if let Some(store) = self.writer.get() {
            return Ok(store);
        }
        if self.reader.get().is_none() {
            let _ = self.reader.set(self.opened(open_store::for_reading(
                &self.env,
                &self.project,
                &self.settings.store,
            ))?);
        }
        self.reader.get().ok_or_else(|| errors::internal("the store was not kept"))
    }

    /// The store for writing; created if it is missing. A store that was opened for reading is reused.
    pub fn store_for_writing(&self) -> Result<&Store> {
        if let Some(store) = self.reader.get().filter(|store| !store.is_missing()) {
            return Ok(store);
        }
        if self.writer.get().is_none() {
            let _ = self.writer.set(self.opened(open_store::for_writing(
                &self.env,
                &self.project,
                &self.settings.store,
            ))?);
        }
        self.writer.get().ok_or_else(|| errors::internal("the store was not kept"))
    }

    /// The store; of one that lost records, an error whose hint offers a snapshot only where there is one.
    fn opened(&self, result: Result<Store, StoreError>) -> Result<Store> {
        result.map_err(|error| open_store::with_way_back(&self.project, error))
    }

    /// A waiter that every change of the store wakes. Bind it before the first query: a change between query and wait then
    /// wakes it at once.
    pub fn waiter(&self, noun: &str) -> Result<ChangeWaiter> {
        let store = self.store_for_writing()?;
        let dir = store.wake_dir();
        // Another container, or a killed process, may have used the same pid.
        let name = format!("{noun}-{}-{}", std::process::id(), self.env.ids.random_suffix());
        files::private_dir(dir)?;
        Ok(store.listen(ChangeWaiter::bind(dir, &name)?)?)
    }

    /// Runs `change` as one IMMEDIATE transaction and stores its answer under the `--request-id`. An acting session must be
    /// registered. The change counts as its heartbeat: its leases are renewed, and a stale session is revived.
    ///
    /// # Errors
    /// As `change` or the store fails; nothing is written then.
    pub fn mutate(&self, change: impl FnOnce(&WriteTx<'_>) -> Result<Answer>) -> Result<Answer> {
        self.mutate_as(true, Box::new(change))
    }

    /// As [`App::mutate`], but without the acting session's heartbeat: for changes that register sessions.
    ///
    /// # Errors
    /// As `change` or the store fails; nothing is written then.
    pub fn mutate_unattributed(&self, change: impl FnOnce(&WriteTx<'_>) -> Result<Answer>) -> Result<Answer> {
        self.mutate_as(false, Box::new(change))
    }

    /// Both ways to mutate, compiled once for all changes.
    fn mutate_as(&self, is_heartbeat: bool, change: Change<'_>) -> Result<Answer> {
        let attributed = |tx: &WriteTx<'_>| {
            if is_heartbeat {
                self.heartbeat(tx)?;
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

    /// One of several steps of a change, which are committed apart: as [`App::mutate`], but no `--request-id` covers it.
    ///
    /// # Errors
    /// As `change` or the store fails; nothing of this step is written then.
    pub fn mutate_step(&self, change: impl FnOnce(&WriteTx<'_>) -> Result<()>) -> Result<()> {
        self.transaction(|tx| {
            self.heartbeat(tx)?;
            change(tx)
        })
    }

    fn heartbeat(&self, tx: &WriteTx<'_>) -> Result<()> {
        if let Some(session) = &self.actor.session {
            keepalive::touch(tx, &lookup::session(tx, session)?, self.actor.run_id.as_ref())?;
            tasks::renew_leases(tx, &self.actor.name, None)?;
        }
        Ok(())
    }

    /// Has a snapshot made at the end of the command: imported tasks exist nowhere else in this form.
    pub fn snapshot_after_import(&self) {
        self.after_write.imported(self.env.now());
    }

    /// Counts leases and heartbeats that a clock which was ahead has written from now. Writes only if there are any.
    pub fn count_future_times_from_now(&self) -> Result<()> {
        let now = self.store_for_reading()?.time(self.env.now())?;
        if self.read(|tx| Ok(integrity::has_future_times(tx, now)?))? {
            self.transaction(|tx| Ok(integrity::count_future_times_from_now(tx)?))?;
        }
        Ok(())
    }

    /// Runs `change` as one IMMEDIATE transaction that no `--request-id` covers: one step of a command with effects outside
    /// the store.
    ///
    /// # Errors
    /// As `change` or the store fails; nothing is written then.
    pub fn transaction<T>(&self, change: impl FnOnce(&WriteTx<'_>) -> Result<T>) -> Result<T> {
        let done = self.store_for_writing()?.write(self.env.now(), &self.actor.name, change)?;
        self.after_write.wrote(self.env.now());
        Ok(done)
    }
}

/// A digest of the machine's id, for a store on a server. Containers of one machine have the same: a claim by a person outlives
/// them.
fn machine_digest(settings: &Settings) -> Option<String> {
    let id = settings.store.is_on_server().then(host::identity_to_record)?.id?;
    let machine = id.split_once('/').map_or(id.as_str(), |(machine, _)| machine);
    Some(digest::sha256_hex(format!("fairway claimant {machine}").as_bytes()))
}

/// The error of a change that has a request id.
fn with_request_id(error: anyhow::Error) -> anyhow::Error {
    let mut error = error;
    if let Some(StoreError::OutcomeUnknown { has_request_id, .. }) = error.downcast_mut() {
        *has_request_id = true;
    }
    error
}
