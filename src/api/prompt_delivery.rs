//! Having prompts brought by the session's adapter, when nobody listens for them. One at a time for each session.

use std::{cell::RefCell, collections::BTreeMap, time::Duration};

use tokio::time::sleep;

use super::{log::warn, state};
use crate::{
    actions::{boundary::runtime::session_of_run, sessions::prompt},
    domain::SessionId,
};

/// How often it is tried when too much else is going on, and how long after.
const MAX_ATTEMPTS: usize = 30;
const RETRY_DELAY: Duration = Duration::from_secs(1);

thread_local! {
    /// Sessions for which it is being done, and whether it is to be done once more.
    static IN_PROGRESS: RefCell<BTreeMap<SessionId, bool>> = const { RefCell::new(BTreeMap::new()) };
}

/// Has it done for the session of a run.
pub(super) fn start_for_run(run: &str) {
    if let Ok(session) = state::read(|app| app.read(|tx| session_of_run(tx, run)))
        && !session.status.is_final()
    {
        start_for_session(session.id);
    }
}

/// Has it done for a session.
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
        let to = id.clone();
        match state::run_blocking(move |app| prompt::deliver(app, &to)).await {
            Ok(_) => return,
            Err(fault) if fault.failure.retryable => sleep(RETRY_DELAY).await,
            // It waits as before; the session's own calls may bring it.
            Err(fault) => return warn(&format!("what waits for {id} was not typed: {}", fault.failure.message)),
        }
    }
}
