//! Everybody who is connected. When there is no room, whoever has been silent longest goes, those first who never asked
//! anything: so nobody who only sits there keeps another out.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::Instant,
};

use tokio::sync::{Notify, watch};

/// How many may be connected.
pub(super) const MAX_CONNECTIONS: usize = 256;

/// Everybody.
#[derive(Debug)]
pub(super) struct Connections {
    handles: Mutex<Vec<Arc<ConnectionHandle>>>,
    created_at: Instant,
    count: watch::Sender<usize>,
}

/// One who is connected.
#[derive(Debug, Default)]
pub(super) struct ConnectionHandle {
    /// Tells them to go.
    pub(super) evict: Notify,
    /// Requests that are being answered.
    in_flight: AtomicUsize,
    /// How many were asked.
    requests: AtomicU64,
    /// When they last did anything, in microseconds.
    last_active_micros: AtomicU64,
}

/// A request that is being answered, until it is dropped.
#[derive(Debug)]
pub(super) struct InFlight {
    connections: Arc<Connections>,
    connection: Arc<ConnectionHandle>,
}

impl Connections {
    /// Nobody.
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { handles: Mutex::default(), created_at: Instant::now(), count: watch::Sender::new(0) })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<ConnectionHandle>>> {
        self.handles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn elapsed_micros(&self) -> u64 {
        u64::try_from(self.created_at.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Lets one in; `None` when everybody who is there is being served.
    pub(super) fn accept(&self) -> Option<Arc<ConnectionHandle>> {
        let mut guests = self.lock();
        if guests.len() >= MAX_CONNECTIONS {
            let silent = guests.iter().enumerate().filter(|(_, guest)| guest.in_flight.load(Relaxed) == 0);
            let (place, _) = silent
                .min_by_key(|(_, guest)| (guest.requests.load(Relaxed) > 0, guest.last_active_micros.load(Relaxed)))?;
            guests.swap_remove(place).evict.notify_one();
        }
        let guest = Arc::new(ConnectionHandle {
            last_active_micros: AtomicU64::new(self.elapsed_micros()),
            ..ConnectionHandle::default()
        });
        guests.push(Arc::clone(&guest));
        self.count.send_replace(guests.len());
        Some(guest)
    }

    /// One is gone.
    pub(super) fn remove(&self, gone: &Arc<ConnectionHandle>) {
        let mut guests = self.lock();
        guests.retain(|guest| !Arc::ptr_eq(guest, gone));
        self.count.send_replace(guests.len());
    }

    /// A request of one begins.
    pub(super) fn start_request(self: &Arc<Self>, guest: &Arc<ConnectionHandle>) -> InFlight {
        guest.in_flight.fetch_add(1, Relaxed);
        guest.requests.fetch_add(1, Relaxed);
        InFlight { connections: Arc::clone(self), connection: Arc::clone(guest) }
    }

    /// Comes back when nobody is there any more.
    pub(super) async fn wait_drained(&self) {
        let mut count = self.count.subscribe();
        let _ = count.wait_for(|count| *count == 0).await;
    }
}

impl ConnectionHandle {
    /// How many requests they have asked, and whether one is being answered.
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
    fn who_never_asked_goes_first_and_who_is_served_stays() {
        let crowd = Connections::new();
        let asked = crowd.accept().unwrap();
        drop(crowd.start_request(&asked));
        let silent: Vec<_> = (1..MAX_CONNECTIONS).map(|_| crowd.accept().unwrap()).collect();
        assert_eq!(crowd.lock().len(), MAX_CONNECTIONS);
        let next = crowd.accept().unwrap();
        let is_there = |guest: &Arc<ConnectionHandle>| crowd.lock().iter().any(|one| Arc::ptr_eq(one, guest));
        assert!(is_there(&asked) && is_there(&next) && !is_there(&silent[0]) && is_there(&silent[1]));
        let served: Vec<_> = crowd.lock().iter().map(|guest| crowd.start_request(guest)).collect::<Vec<_>>();
        assert!(crowd.accept().is_none());
        drop(served);
        assert!(crowd.accept().is_some());
    }
}
