//! Wake-ups from other hosts: a connection of its own listens on the project's channel, in a thread that passes each notification
//! on to the waiter of this process.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};
use std::{io, thread};

use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;

use super::{StoreAddress, connect};
use crate::os::notify::{ChangeWaiter, Waker};
use crate::os::poll_until::sleep;
use crate::store::StoreError;
use crate::store::sql::{PostgresClient, store_error};

/// How often a waiter looks although it was not notified. A notification is only a hint; the number of the newest event decides.
const LOOK_INTERVAL: Duration = Duration::from_secs(30);
/// How long one round of attempts to reconnect lasts.
const RECONNECT_LIMIT: Duration = Duration::from_secs(30);
/// The first pause after a round in which the server refused. Each further pause is twice as long, up to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LAST_PAUSE: Duration = Duration::from_secs(10);
/// How long a notification to the own connection may take.
const ECHO_LIMIT: Duration = Duration::from_secs(5);

/// A thread that listens. It ends when this is dropped.
#[derive(Debug)]
pub(in crate::store) struct Listener {
    _stop: oneshot::Sender<()>,
}

impl Listener {
    /// From now on, wakes the waiter when another host changes the store.
    pub fn attach(address: &StoreAddress, waiter: ChangeWaiter) -> Result<ChangeWaiter, StoreError> {
        let system = |error: io::Error| StoreError::io("the waiter of the store's server", error);
        let waker = waiter.waker().map_err(system)?;
        let client = listen(connect::connect(address)?.client, address)?;
        let (stop, stopped) = oneshot::channel();
        let address = address.clone();
        thread::Builder::new()
            .name("listener".into())
            .spawn(move || forward(client, &address, &waker, stopped))
            .map_err(system)?;
        Ok(waiter.with_source(Box::new(Self { _stop: stop })))
    }
}

/// Subscribes to the project's channel, and checks that notifications come through.
fn listen(mut client: PostgresClient, address: &StoreAddress) -> Result<PostgresClient, StoreError> {
    let channel = format!("fairway.{}", address.schema);
    // Any text that no other process sends.
    let echo = format!("echo {:016x}", RandomState::new().hash_one(()));
    let shown = address.to_string();
    let subscribe = format!("LISTEN \"{channel}\"");
    let say = format!("SELECT pg_notify('{channel}', '{echo}')");
    let limit = address.answer_limit();
    for statement in [&subscribe, &say] {
        let done = client.call(limit, async |client| client.simple_query(statement).await);
        done.map_err(|error| store_error(error, &shown))?;
    }
    match client.wait_for_payload(ECHO_LIMIT, &echo) {
        Ok(true) => Ok(client),
        Ok(false) => {
            let why = "notifications do not come through; a connection pooler in transaction mode must be left out";
            Err(StoreError::Server { address: shown, why: why.into() })
        }
        Err(error) => Err(store_error(error, &shown)),
    }
}

/// Passes notifications on until `stopped` is over.
fn forward(client: PostgresClient, address: &StoreAddress, waker: &Waker, stopped: oneshot::Receiver<()>) {
    let (mut client, mut stopped) = (client, stopped);
    let mut pause = FIRST_PAUSE;
    loop {
        let heard = client.wait_notified(LOOK_INTERVAL, &mut stopped);
        if !matches!(stopped.try_recv(), Err(TryRecvError::Empty)) {
            return;
        }
        // It is a waiter's to look at each end of the connection and after each new one, and the store's to say what is wrong.
        waker.wake();
        if heard.is_err() {
            let again = connect::reconnect(address, Instant::now() + RECONNECT_LIMIT);
            match again.and_then(|connected| listen(connected.client, address)) {
                Ok(connected) => (client, pause) = (connected, FIRST_PAUSE),
                Err(_) => {
                    sleep(pause);
                    pause = (pause * 2).min(LAST_PAUSE);
                }
            }
            waker.wake();
        }
    }
}
