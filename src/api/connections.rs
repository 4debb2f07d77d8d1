//! Registry of open connections. At the limit the connection that has been idle longest is closed, connections without any
//! request first, so that idle clients cannot keep others out.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::{Notify, watch};

/// How many connections may be open at once.
pub(super) const MAX_CONNECTIONS: usize = 256;

#[derive(Debug)]
pub(super) struct Connections {
    handles: Mutex<Vec<Arc<ConnectionHandle>>>,
    created_at: Instant,
    count: watch::Sender<usize>,
}

#[derive(Debug, Default)]
pub(super) struct ConnectionHandle {
    /// Notified when the connection must be closed.
    pub(super) evict: Notify,
    /// Requests that are not answered completely.
    in_flight: AtomicUsize,
    /// How many requests the connection has had.
    requests: AtomicU64,
    /// When the last request ended, or the connection opened: in microseconds since `created_at`.
    last_active_micros: AtomicU64,
}

/// Counts a request as in flight until it is dropped.
#[derive(Debug)]
pub(super) struct InFlight {
    connections: Arc<Connections>,
    connection: Arc<ConnectionHandle>,
}

impl Connections {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { handles: Mutex::default(), created_at: Instant::now(), count: watch::Sender::new(0) })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<ConnectionHandle>>> {
        self.handles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn elapsed_micros(&self) -> u64 {
        u64::try_from(self.created_at.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Registers a connection. At the limit it closes the connection that has been idle longest, and before it those that
    /// never had a request. Returns `None` when all connections have a request in flight.
    pub(super) fn accept(&self) -> Option<Arc<ConnectionHandle>> {
        let mut handles = self.lock();
        if handles.len() >= MAX_CONNECTIONS {
            let idle = handles.iter().enumerate().filter(|(_, handle)| handle.in_flight.load(Relaxed) == 0);
            let (index, _) = idle.min_by_key(|(_, handle)| {
                (handle.requests.load(Relaxed) > 0, handle.last_active_micros.load(Relaxed))
            })?;
            handles.swap_remove(index).evict.notify_one();
        }
        let handle = Arc::new(ConnectionHandle {
            last_active_micros: AtomicU64::new(self.elapsed_micros()),
            ..ConnectionHandle::default()
        });
        handles.push(Arc::clone(&handle));
        self.count.send_replace(handles.len());
        Some(handle)
    }

    pub(super) fn remove(&self, closed: &Arc<ConnectionHandle>) {
        let mut handles = self.lock();
        handles.retain(|handle| !Arc::ptr_eq(handle, closed));
        self.count.send_replace(handles.len());
    }

    pub(super) fn start_request(self: &Arc<Self>, handle: &Arc<ConnectionHandle>) -> InFlight {
        handle.in_flight.fetch_add(1, Relaxed);
        handle.requests.fetch_add(1, Relaxed);
        InFlight { connections: Arc::clone(self), connection: Arc::clone(handle) }
    }

    /// Waits until no connection is open.
    pub(super) async fn wait_drained(&self) {
        let mut count = self.count.subscribe();
        let _ = count.wait_for(|count| *count == 0).await;
    }
}

impl ConnectionHandle {
    /// How many requests the connection has had, and whether one is in flight.
    pub(super) fn request_state(&self) -> (u64, bool) {
        (self.requests.load(Relaxed), self.in_flight.load(Relaxed) > 0)
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.connection.last_active_micros.store(self.connections.elapsed_micros(), Relaxed);
        self.connection.in_flight.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_connection_is_evicted_first_and_a_served_one_stays() {
        let connections = Connections::new();
        let asked = connections.accept().unwrap();
        drop(connections.start_request(&asked));
        let silent: Vec<_> = (1..MAX_CONNECTIONS).map(|_| connections.accept().unwrap()).collect();
        assert_eq!(connections.lock().len(), MAX_CONNECTIONS);
        let next = connections.accept().unwrap();
        let is_open =
            |handle: &Arc<ConnectionHandle>| connections.lock().iter().any(|known| Arc::ptr_eq(known, handle));
        assert!(is_open(&asked) && is_open(&next) && !is_open(&silent[0]) && is_open(&silent[1]));
        let served: Vec<_> =
            connections.lock().iter().map(|handle| connections.start_request(handle)).collect::<Vec<_>>();
        assert!(connections.accept().is_none());
        drop(served);
        assert!(connections.accept().is_some());
    }
}
