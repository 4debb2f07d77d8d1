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
pub(super) const MOST: usize = 256;

/// Everybody.
#[derive(Debug)]
pub(super) struct Crowd {
    guests: Mutex<Vec<Arc<Guest>>>,
    began: Instant,
    count: watch::Sender<usize>,
}

/// One who is connected.
#[derive(Debug, Default)]
pub(super) struct Guest {
    /// Tells them to go.
    pub(super) leave: Notify,
    /// Requests that are being answered.
    busy: AtomicUsize,
    /// How many were asked.
    asked: AtomicU64,
    /// When they last did anything, in microseconds.
    last: AtomicU64,
}

/// A request that is being answered, until it is dropped.
#[derive(Debug)]
pub(super) struct Busy {
    crowd: Arc<Crowd>,
    guest: Arc<Guest>,
}

impl Crowd {
    /// Nobody.
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { guests: Mutex::default(), began: Instant::now(), count: watch::Sender::new(0) })
    }

    fn guests(&self) -> MutexGuard<'_, Vec<Arc<Guest>>> {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Lets one in; `None` when everybody who is there is being served.
    pub(super) fn enter(&self) -> Option<Arc<Guest>> {
        let mut guests = self.guests();
        if guests.len() >= MOST {
            let silent = guests.iter().enumerate().filter(|(_, guest)| guest.busy.load(Relaxed) == 0);
            let (place, _) =
                silent.min_by_key(|(_, guest)| (guest.asked.load(Relaxed) > 0, guest.last.load(Relaxed)))?;
            guests.swap_remove(place).leave.notify_one();
        }
        let guest = Arc::new(Guest { last: AtomicU64::new(self.now()), ..Guest::default() });
        guests.push(Arc::clone(&guest));
        self.count.send_replace(guests.len());
        Some(guest)
    }

    /// One is gone.
    pub(super) fn leave(&self, gone: &Arc<Guest>) {
        let mut guests = self.guests();
        guests.retain(|guest| !Arc::ptr_eq(guest, gone));
        self.count.send_replace(guests.len());
    }

    /// A request of one begins.
    pub(super) fn begin(self: &Arc<Self>, guest: &Arc<Guest>) -> Busy {
        guest.busy.fetch_add(1, Relaxed);
        guest.asked.fetch_add(1, Relaxed);
        Busy { crowd: Arc::clone(self), guest: Arc::clone(guest) }
    }

    /// Comes back when nobody is there any more.
    pub(super) async fn gone(&self) {
        let mut count = self.count.subscribe();
        let _ = count.wait_for(|count| *count == 0).await;
    }
}

impl Guest {
    /// How many requests they have asked, and whether one is being answered.
    pub(super) fn asked(&self) -> (u64, bool) {
        (self.asked.load(Relaxed), self.busy.load(Relaxed) > 0)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.guest.last.store(self.crowd.now(), Relaxed);
        self.guest.busy.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_never_asked_goes_first_and_who_is_served_stays() {
        let crowd = Crowd::new();
        let asked = crowd.enter().unwrap();
        drop(crowd.begin(&asked));
        let silent: Vec<_> = (1..MOST).map(|_| crowd.enter().unwrap()).collect();
        assert_eq!(crowd.guests().len(), MOST);
        let next = crowd.enter().unwrap();
        let is_there = |guest: &Arc<Guest>| crowd.guests().iter().any(|one| Arc::ptr_eq(one, guest));
        assert!(is_there(&asked) && is_there(&next) && !is_there(&silent[0]) && is_there(&silent[1]));
        let served: Vec<_> = crowd.guests().iter().map(|guest| crowd.begin(guest)).collect::<Vec<_>>();
        assert!(crowd.enter().is_none());
        drop(served);
        assert!(crowd.enter().is_some());
    }
}
