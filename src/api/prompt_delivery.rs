//! Having prompts brought by the session's adapter, when nobody listens for them. One at a time for each session.

use std::{cell::RefCell, collections::BTreeMap, time::Duration};

use tokio::time::sleep;

use super::{log::remark, state};
use crate::{
    actions::{boundary::runtime::session_of_run, sessions::prompt},
    domain::SessionId,
};

/// How often it is tried when too much else is going on, and how long after.
const TRIES: usize = 30;
const LATER: Duration = Duration::from_secs(1);

thread_local! {
    /// Sessions for which it is being done, and whether it is to be done once more.
    static BUSY: RefCell<BTreeMap<SessionId, bool>> = const { RefCell::new(BTreeMap::new()) };
}

/// Has it done for the session of a run.
pub(super) fn to_run(run: &str) {
    if let Ok(session) = state::look(|app| app.read(|tx| session_of_run(tx, run)))
        && !session.status.is_final()
    {
        to_session(session.id);
    }
}

/// Has it done for a session.
pub(super) fn to_session(id: SessionId) {
    let is_first = BUSY.with_borrow_mut(|busy| match busy.get_mut(&id) {
        Some(again) => {
            *again = true;
            false
        }
        None => busy.insert(id.clone(), false).is_none(),
    });
    if is_first {
        tokio::spawn(async move {
            loop {
                once(&id).await;
                let again = BUSY.with_borrow_mut(|busy| {
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

async fn once(id: &SessionId) {
    for _ in 0..TRIES {
        let to = id.clone();
        match state::outside(move |app| prompt::deliver(app, &to)).await {
            Ok(_) => return,
            Err(fault) if fault.failure.retryable => sleep(LATER).await,
            // It waits as before; the session's own calls may bring it.
            Err(fault) => return remark(&format!("what waits for {id} was not typed: {}", fault.failure.message)),
        }
    }
}
