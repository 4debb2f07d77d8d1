//! The context of a use case: environment, project, settings, store and actor.

use std::{cell::OnceCell, rc::Rc};

use anyhow::Result;

use super::{errors, fingerprint, lookup};
use crate::actions::{Answer, core::keepalive};
use crate::{
    config::{Layers, Project, Settings},
    domain::{Actor, Refusal},
    env::Env,
    os::notify::ChangeWaiter,
    store::{ReadTx, Store, WriteTx, requests, tasks},
};

/// A `--request-id` and what it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// The id that the caller made up.
    pub id: String,
    /// A digest of the command's words and of who acts.
    pub fingerprint: String,
}

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
    /// The actor.
    pub actor: Actor,
    /// The idempotency key of a `--request-id`, if given.
    pub idempotency_key: Option<IdempotencyKey>,
    writer: Rc<OnceCell<Store>>,
    reader: Rc<OnceCell<Store>>,
}

impl App {
    /// The context of one command. Opens nothing yet.
    #[must_use]
    pub fn new(
        env: Rc<Env>,
        project: Project,
        layers: Layers,
        settings: Settings,
        actor: Actor,
        request: Option<IdempotencyKey>,
    ) -> Self {
        Self {
            env,
            project: Rc::new(project),
            layers: Rc::new(layers),
            settings: Rc::new(settings),
            actor,
            idempotency_key: request,
            writer: Rc::default(),
            reader: Rc::default(),
        }
    }

    /// The same context with another actor, for callers that act for several. Shares the open store.
    #[must_use]
    pub fn with_actor(&self, actor: Actor, request: Option<IdempotencyKey>) -> Self {
        Self {
            env: Rc::clone(&self.env),
            project: Rc::clone(&self.project),
            layers: Rc::clone(&self.layers),
            settings: Rc::clone(&self.settings),
            actor,
            idempotency_key: request,
            writer: Rc::clone(&self.writer),
            reader: Rc::clone(&self.reader),
        }
    }

    /// The same context with newly read settings. Shares the open store.
    #[must_use]
    pub fn with_settings(&self, layers: Layers, settings: Settings) -> Self {
        let (layers, settings) = (Rc::new(layers), Rc::new(settings));
        Self { layers, settings, ..self.with_actor(self.actor.clone(), self.idempotency_key.clone()) }
    }

    /// The same context with nothing open yet, for use after the store file was replaced.
    #[must_use]
    pub fn with_fresh_store(&self) -> Self {
        let (writer, reader) = (Rc::default(), Rc::default());
        Self { writer, reader, ..self.with_actor(self.actor.clone(), self.idempotency_key.clone()) }
    }

    /// Runs `query` on one snapshot. A missing store answers as an empty one.
    ///
    /// # Errors
    /// As `query` or the store fails.
    pub fn read<T>(&self, query: impl FnOnce(&ReadTx<'_>) -> Result<T>) -> Result<T> {
        self.store_for_reading()?.read(query)
    }

    /// The store for reading. A store that [`App::mutate`] has opened meanwhile is reused.
    ///
    /// # Errors
    /// As the store fails.
    pub fn store_for_reading(&self) -> Result<&Store> {
        if let Some(store) = self.writer.get() {
            return Ok(store);
        }
        if self.reader.get().is_none() {
            let store = Store::open_for_reading(&self.project.store, &self.project.runtime_dir())?;
            let _ = self.reader.set(store);
        }
        self.reader.get().ok_or_else(|| errors::internal("the store was not kept"))
    }

    /// The store for writing; created if it is missing. A store that was opened for reading is reused.
    ///
    /// # Errors
    /// As the store fails.
    pub fn store_for_writing(&self) -> Result<&Store> {
        if let Some(store) = self.reader.get().filter(|store| store.path().is_some()) {
            return Ok(store);
        }
        if self.writer.get().is_none() {
            let store = Store::open_for_writing(&self.project.store, &self.project.runtime_dir())?;
            let _ = self.writer.set(store);
        }
        self.writer.get().ok_or_else(|| errors::internal("the store was not kept"))
    }

    /// A waiter that every change of the store wakes. Bind it before the first query: a change between query and wait then
    /// wakes it at once.
    ///
    /// # Errors
    /// As the store fails; when the socket cannot be bound.
    pub fn waiter(&self, noun: &str) -> Result<ChangeWaiter> {
        let dir = self.store_for_writing()?.wake_dir();
        // Another container, or a killed process, may have used the same pid.
        let name = format!("{noun}-{}-{}", std::process::id(), self.env.ids.random_letters());
        Ok(ChangeWaiter::bind(dir, &name)?)
    }

    /// Runs `change` as one IMMEDIATE transaction and stores its answer under the `--request-id`. An acting session must be
    /// registered. The change counts as its heartbeat: its leases are renewed, and a stale session is revived.
    ///
    /// # Errors
    /// As `change` or the store fails; nothing is written then.
    pub fn mutate(&self, change: impl FnOnce(&WriteTx<'_>) -> Result<Answer>) -> Result<Answer> {
        self.mutate_unattributed(|tx| {
            if let Some(session) = &self.actor.session {
                keepalive::touch(tx, &lookup::session(tx, session)?, self.actor.run_id.as_deref())?;
                tasks::renew_leases(tx, &self.actor.name, None)?;
            }
            change(tx)
        })
    }

    /// As [`App::mutate`], but without the acting session's heartbeat: for changes that register sessions.
    ///
    /// # Errors
    /// As `change` or the store fails; nothing is written then.
    pub fn mutate_unattributed(&self, change: impl FnOnce(&WriteTx<'_>) -> Result<Answer>) -> Result<Answer> {
        self.transaction(|tx| {
            let Some(request) = &self.idempotency_key else { return change(tx) };
            if let Some(answer) = stored_response(tx, request)? {
                return Ok(answer);
            }
            let answer = change(tx)?;
            let text = serde_json::to_string(&answer).map_err(errors::internal)?;
            requests::upsert(tx, &request.id, &request.fingerprint, Some(&text))?;
            Ok(answer)
        })
    }

    /// Runs `change` as one IMMEDIATE transaction that no `--request-id` covers: one step of a command with effects outside
    /// the store.
    ///
    /// # Errors
    /// As `change` or the store fails; nothing is written then.
    pub fn transaction<T>(&self, change: impl FnOnce(&WriteTx<'_>) -> Result<T>) -> Result<T> {
        self.store_for_writing()?.write(self.env.now(), &self.actor.name, change)
    }
}

/// The answer that a request was given before.
///
/// # Errors
/// [`Refusal::RequestReused`] when the id was used for other words.
pub(crate) fn stored_response(tx: &ReadTx<'_>, request: &IdempotencyKey) -> Result<Option<Answer>> {
    let Some(known) = requests::find(tx, &request.id)? else { return Ok(None) };
    if !fingerprint::is_same(&known.fingerprint, &request.fingerprint, known.answer.as_deref()) {
        return Err(Refusal::RequestReused { id: request.id.clone() }.into());
    }
    known.answer.map(|text| serde_json::from_str(&text).map_err(errors::internal)).transpose()
}

/// Writes what is about to be done outside, under a request. `Some` is what the request was answered with meanwhile;
/// `became` says what is known of one that was cut off.
///
/// # Errors
/// [`Refusal::RequestOpen`] when it was begun before and has no answer; as [`remembered`] fails.
pub(crate) fn record_intent(tx: &WriteTx<'_>, request: &IdempotencyKey, became: &str) -> Result<Option<Answer>> {
    if let Some(answer) = stored_response(tx, request)? {
        return Ok(Some(answer));
    }
    if requests::find(tx, &request.id)?.is_some() {
        let (id, became) = (request.id.clone(), became.to_owned());
        return Err(Refusal::RequestPending { id, became, running: false }.into());
    }
    requests::upsert(tx, &request.id, &request.fingerprint, None)?;
    Ok(None)
}
