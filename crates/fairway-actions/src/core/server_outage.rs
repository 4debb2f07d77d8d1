//! Outages of a store's server: a command that follows the store continues when the server is back.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::app::App;
use super::errors;
use fairway_core::os::notify::ChangeWaiter;
use fairway_core::os::poll_until::sleep;
use fairway_core::store::StoreError;

/// The first pause between attempts. Each further pause is twice as long, up to a limit.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LAST_PAUSE: Duration = Duration::from_secs(5);

/// Outages of the server while a command follows the store. A store in a file has none.
pub struct ServerOutage<'a> {
    /// Gets a message at the beginning of an outage, and one at its end.
    warn: &'a mut dyn FnMut(&str),
    pause: Option<Duration>,
    /// Whether to repeat a change whose outcome an outage left unknown.
    repeats_unknown: bool,
}

impl<'a> ServerOutage<'a> {
    pub fn new(warn: &'a mut dyn FnMut(&str)) -> Self {
        Self { warn, pause: None, repeats_unknown: false }
    }

    /// Makes [`Self::outlast`] repeat a change whose outcome is unknown, too. Use it only for changes that are harmless when they
    /// are made twice.
    #[must_use]
    pub const fn repeating_unknown(self) -> Self {
        Self { repeats_unknown: true, ..self }
    }

    /// Calls `look` until the server answers, at most until the deadline. `look` may be called several times, so it must keep
    /// nothing of a failed call. Between two calls it waits at most 5 s, or until `waiter` is woken.
    ///
    /// # Errors
    /// Those of `look`: an error that is no outage at once, an outage when the deadline has passed.
    pub fn outlast<T>(
        &mut self,
        waiter: &ChangeWaiter,
        deadline: Option<Instant>,
        mut look: impl FnMut() -> Result<T>,
    ) -> Result<T> {
        loop {
            let error = match look() {
                Ok(found) => {
                    if self.pause.take().is_some() {
                        (self.warn)("the store's server answers again");
                    }
                    return Ok(found);
                }
                Err(error) => error,
            };
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let is_passing = is_outage(&error) || self.repeats_unknown && is_unknown(&error);
            if !is_passing || left.is_some_and(|left| left.is_zero()) {
                return Err(error);
            }
            let pause = match self.pause {
                None => {
                    (self.warn)(&format!("{}; waiting for it", errors::classify(&error).message));
                    FIRST_PAUSE
                }
                Some(pause) => (pause * 2).min(LAST_PAUSE),
            };
            self.pause = Some(pause);
            waiter.wait(Some(left.map_or(pause, |left| left.min(pause)))).map_err(errors::internal)?;
        }
    }
}

/// Calls `attempt` again while the server does not answer, at most for `limit`.
///
/// # Errors
/// The error of the last `attempt`.
pub fn retry<T>(limit: Duration, attempt: impl FnMut() -> Result<T>) -> Result<T> {
    let deadline = Instant::now() + limit;
    retry_while(|| Instant::now() < deadline, attempt)
}

/// Calls `attempt` again while the server does not answer and `is_wanted` returns true.
pub fn retry_while<T>(is_wanted: impl Fn() -> bool, mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
    loop {
        match attempt() {
            Err(error) if is_outage(&error) && is_wanted() => sleep(FIRST_PAUSE),
            done => return done,
        }
    }
}

/// Turns an outage into an error of unknown outcome, for a command that has already made its change outside of the store. `done`
/// names that change. Other errors stay as they are.
pub fn partly_done(app: &App, done: &str, error: anyhow::Error) -> anyhow::Error {
    let (address, why) = match error.downcast_ref() {
        Some(
            StoreError::Unreachable { address, why }
            | StoreError::ServerBusy { address, why }
            | StoreError::NotWritten { address, why },
        ) => (address.clone(), format!("{why}; {done}")),
        _ => return error,
    };
    StoreError::OutcomeUnknown { address, why, has_request_id: app.idempotency_key.is_some() }.into()
}

/// Whether the server did not answer and nothing was written. A refused login counts as an answer.
pub fn is_outage(error: &anyhow::Error) -> bool {
    matches!(
        error.downcast_ref(),
        Some(StoreError::Unreachable { .. } | StoreError::ServerBusy { .. } | StoreError::NotWritten { .. })
    )
}

fn is_unknown(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(StoreError::OutcomeUnknown { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn away() -> anyhow::Error {
        StoreError::Unreachable { address: "postgres://db".into(), why: "connection refused".into() }.into()
    }

    /// The warnings and the outcome, when `look` fails with these errors and then succeeds.
    fn outlast(deadline: Option<Instant>, errors: Vec<anyhow::Error>) -> (Vec<String>, Result<&'static str>) {
        outlast_with(false, deadline, errors)
    }

    fn outlast_with(
        repeats_unknown: bool,
        deadline: Option<Instant>,
        errors: Vec<anyhow::Error>,
    ) -> (Vec<String>, Result<&'static str>) {
        let home = tempfile::tempdir().unwrap();
        let waiter = ChangeWaiter::bind(home.path(), "a").unwrap();
        let waker = waiter.waker().unwrap();
        let (mut said, mut errors) = (Vec::new(), errors.into_iter());
        let mut warn = |text: &str| said.push(text.to_owned());
        let outage = ServerOutage::new(&mut warn);
        let mut outage = if repeats_unknown { outage.repeating_unknown() } else { outage };
        let done = outage.outlast(&waiter, deadline, || {
            // The pause ends at once: the server is back.
            waker.wake();
            errors.next().map_or(Ok("seen"), Err)
        });
        (said, done)
    }

    #[test]
    fn outage_is_told_once_and_outlasted() {
        let (said, done) = outlast(None, vec![away(), away(), away()]);
        assert_eq!(done.unwrap(), "seen");
        let away = "the store's server postgres://db cannot be reached: connection refused; waiting for it";
        assert_eq!(said, [away, "the store's server answers again"]);
    }

    #[test]
    fn refusal_and_deadline_end_it() {
        let denied = StoreError::Denied { address: "postgres://db".into(), why: "password".into() };
        let (said, done) = outlast(None, vec![away(), denied.into()]);
        assert_eq!((said.len(), errors::classify(&done.unwrap_err()).code), (1, "store_denied"));
        let (said, done) = outlast(Some(Instant::now()), vec![away()]);
        assert_eq!((said.len(), errors::classify(&done.unwrap_err()).code), (0, "store_unreachable"));
        let (said, done) = outlast(None, Vec::new());
        assert!(said.is_empty() && done.is_ok());
    }

    #[test]
    fn unknown_outcome_is_outlasted_where_a_repetition_is_harmless() {
        let unknown = || -> anyhow::Error {
            let (address, why) = ("postgres://db".into(), "connection refused".into());
            StoreError::OutcomeUnknown { address, why, has_request_id: false }.into()
        };
        let (_, done) = outlast(None, vec![unknown()]);
        assert_eq!(errors::classify(&done.unwrap_err()).code, "outcome_unknown");
        let (said, done) = outlast_with(true, None, vec![unknown(), away()]);
        assert_eq!((said.len(), done.unwrap()), (2, "seen"));
    }
}
