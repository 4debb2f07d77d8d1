//! Delivers queued prompts by typing them through the session's backend when no listener waits for them. One delivery at a
//! time per session.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::sleep;

use super::log::warn;
use super::state;
use fairway_actions::agents::runtime::session_of_run;
use fairway_actions::sessions::prompt;
use fairway_core::domain::{RunId, SessionId};

/// How often a delivery is tried while the server is busy, and the pause between.
const MAX_ATTEMPTS: usize = 30;
const RETRY_DELAY: Duration = Duration::from_secs(1);

thread_local! {
    /// Sessions with a delivery in progress, and whether another one must follow.
    static IN_PROGRESS: RefCell<BTreeMap<SessionId, bool>> = const { RefCell::new(BTreeMap::new()) };
}

/// Like [`start_for_session`], for the session that has this run. Does nothing when the session is unknown or has ended.
pub(super) fn start_for_run(run: &RunId) {
    if let Ok(session) = state::read(|app| app.read(|tx| session_of_run(tx, run)))
        && !session.status.is_final()
    {
        start_for_session(session.id);
    }
}

/// Starts to deliver a session's queued prompts. If a delivery is in progress, another one follows it.
pub(super) fn start_for_session(id: SessionId) {
    let is_first = IN_PROGRESS.with_borrow_mut(|busy| match busy.get_mut(&id) {
        Some(again) => {
            *again = true;
            false
        }
        None => busy.insert(id.clone(), false).is_none(),
    });
    if is_first {
        tokio::spawn(async move {
            loop {
                deliver(&id).await;
                let again = IN_PROGRESS.with_borrow_mut(|busy| {
                    let again = busy.get(&id) == Some(&true);
                    if again {
                        busy.insert(id.clone(), false);
                    } else {
                        busy.remove(&id);
                    }
                    again
                });
                if !again {
                    return;
                }
            }
        });
    }
}

async fn deliver(id: &SessionId) {
    for _ in 0..MAX_ATTEMPTS {
        let session = id.clone();
        match state::run_blocking(move |app| prompt::deliver(app, &session)).await {
            Ok(_) => return,
            Err(error) if error.failure.retryable => sleep(RETRY_DELAY).await,
            // The prompts stay queued: another delivery channel may still offer them.
            Err(error) => return warn(&format!("prompts for {id} were not typed: {}", error.failure.message)),
        }
    }
}
