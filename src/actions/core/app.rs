//! What every use case works with: the surroundings, the project, its settings, the store, and who acts.

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

/// One command's house.
#[derive(Debug)]
pub struct App {
    /// The surroundings.
    pub env: Rc<Env>,
    /// The project's places.
    pub project: Rc<Project>,
    /// The layers that the settings come from.
    pub layers: Rc<Layers>,
    /// The settings in force.
    pub settings: Rc<Settings>,
    /// Who acts.
    pub actor: Actor,
    /// The `--request-id`, when there is one.
    pub idempotency_key: Option<IdempotencyKey>,
    writer: Rc<OnceCell<Store>>,
    reader: Rc<OnceCell<Store>>,
}

impl App {
    /// A house for one command. Opens nothing yet.
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

    /// The same house with somebody else in it: for one who acts for several, one after another. The store that is open
    /// stays open.
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

    /// The same house after its settings were read again. The store that is open stays open.
    #[must_use]
    pub fn with_settings(&self, layers: Layers, settings: Settings) -> Self {
        let (layers, settings) = (Rc::new(layers), Rc::new(settings));
        Self { layers, settings, ..self.with_actor(self.actor.clone(), self.idempotency_key.clone()) }
    }

    /// The same house with nothing open yet: another file lies at the store's path by now.
    #[must_use]
    pub fn with_fresh_store(&self) -> Self {
        let (writer, reader) = (Rc::default(), Rc::default());
        Self { writer, reader, ..self.with_actor(self.actor.clone(), self.idempotency_key.clone()) }
    }

    /// Runs `look` on one snapshot; a store that is not there yet answers as an empty one.
    ///
    /// # Errors
    /// As `look` or the store fails.
    pub fn read<T>(&self, look: impl FnOnce(&ReadTx<'_>) -> Result<T>) -> Result<T> {
        self.store_for_reading()?.read(look)
    }

    /// The store, for reading. One that was made meanwhile by [`App::change`] is used again.
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

    /// The store, for writing; it is made where there is none. One that was opened for reading is used again.
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

    /// One who is woken by every change, under a name of its own. Bind it before the first look, so that nothing falls
    /// between look and wait.
    ///
    /// # Errors
    /// As the store fails; when the socket cannot be bound.
    pub fn waiter(&self, noun: &str) -> Result<ChangeWaiter> {
        let dir = self.store_for_writing()?.wake_dir();
        // A pid alone may be another's in another container, or one that was killed.
        let name = format!("{noun}-{}-{}", std::process::id(), self.env.ids.random_suffix());
        Ok(ChangeWaiter::bind(dir, &name)?)
    }

    /// One change by whoever acts: an IMMEDIATE transaction, remembered under the `--request-id`. The acting session
    /// must be known; acting renews its leases and is a sign of life, which lifts a suspicion.
    ///
    /// # Errors
    /// As `change` or the store fails; nothing is then written.
    pub fn mutate(&self, change: impl FnOnce(&WriteTx<'_>) -> Result<Answer>) -> Result<Answer> {
        self.mutate_unattributed(|tx| {
            if let Some(session) = &self.actor.session {
                keepalive::touch(tx, &lookup::session(tx, session)?, self.actor.run_id.as_deref())?;
                tasks::renew_leases(tx, &self.actor.name, None)?;
            }
            change(tx)
        })
    }

    /// The same without a look at the acting session: for what makes sessions known.
    ///
    /// # Errors
    /// As `change` or the store fails; nothing is then written.
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

    /// One transaction that no `--request-id` covers: a step of a command that acts outside.
    ///
    /// # Errors
    /// As `change` or the store fails; nothing is then written.
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
