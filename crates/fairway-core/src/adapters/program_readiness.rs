//! Waits until a program takes input: by the programs that run, by its prompt, or by a delay. The caller supplies the probe: the
//! plumbing looks into `/proc`, a launch asks the script.

use std::time::Duration;

use super::StartConfig;
use crate::os::poll_until;

/// How long each condition may take.
const READY_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest pause between two probes.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// How a session is examined. `None` means that the answer cannot be determined now.
pub trait ReadinessProbe {
    /// Whether one of these programs runs in it, by exact base name.
    fn has_program(&mut self, names: &[String]) -> Option<bool>;
    /// The text of its screen.
    fn screen(&mut self) -> Option<String>;
    /// Whether it has ended.
    fn has_exited(&mut self) -> bool;
}

/// The result of the wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    /// The session is ready, as far as the configuration says how to determine that.
    Ready,
    /// The session was not ready in time; the text says what was missing. That is no error: the program may be slow, or the
    /// condition wrong.
    TimedOut(String),
    /// It has ended.
    Exited,
}

/// Waits until the session is ready: until one of the configured programs runs, and then until the configured prompt is shown or,
/// when no prompt is configured, until the configured delay is over. Conditions that are not configured are skipped. Returns
/// early when the session exits or a condition takes longer than 30 seconds.
pub fn wait(start: &StartConfig, look: &mut impl ReadinessProbe) -> Readiness {
    wait_with_timeout(READY_TIMEOUT, start, look)
}

fn wait_with_timeout(limit: Duration, start: &StartConfig, look: &mut impl ReadinessProbe) -> Readiness {
    if let Some(names) = start.process_names.as_deref().filter(|names| !names.is_empty()) {
        let seen = poll_probe(limit, look, |look| look.has_program(names).unwrap_or(false));
        if seen != Readiness::Ready {
            return with_reason(seen, limit, &format!("none of {} runs in it", names.join(", ")));
        }
    }
    if let Some(prefix) = start.ready_prompt_prefix.as_deref().filter(|prefix| !trim_blanks(prefix).is_empty()) {
        let seen = poll_probe(limit, look, |look| look.screen().is_some_and(|screen| has_line_prefix(&screen, prefix)));
        return with_reason(seen, limit, &format!("no line begins with '{prefix}'"));
    }
    match start.ready_delay_ms {
        Some(delay) => match poll_probe(Duration::from_millis(delay), look, |_| false) {
            Readiness::Exited => Readiness::Exited,
            _ => Readiness::Ready,
        },
        None => Readiness::Ready,
    }
}

fn poll_probe<L: ReadinessProbe>(limit: Duration, look: &mut L, mut is_seen: impl FnMut(&mut L) -> bool) -> Readiness {
    let found = poll_until::poll_until(limit, POLL_INTERVAL, || {
        if look.has_exited() {
            return Some(Readiness::Exited);
        }
        is_seen(look).then_some(Readiness::Ready)
    });
    found.unwrap_or(Readiness::TimedOut(String::new()))
}

fn with_reason(seen: Readiness, limit: Duration, why: &str) -> Readiness {
    match seen {
        Readiness::TimedOut(_) => Readiness::TimedOut(format!("{why} after {} s", limit.as_secs())),
        seen => seen,
    }
}

/// Whether a line of a screen begins with a prompt, apart from blanks around both.
fn has_line_prefix(screen: &str, prefix: &str) -> bool {
    let prefix = trim_blanks(prefix);
    screen.lines().any(|line| trim_blanks(line).starts_with(&prefix))
}

/// Removes the blanks around a text, no-break spaces included.
fn trim_blanks(text: &str) -> String {
    text.replace('\u{a0}', " ").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows one screen after the other, and ends after the last one.
    struct Screens(Vec<&'static str>);

    impl ReadinessProbe for Screens {
        fn has_program(&mut self, names: &[String]) -> Option<bool> {
            let shown = self.screen()?;
            Some(names.contains(&shown))
        }

        fn screen(&mut self) -> Option<String> {
            Some(self.0.remove(0).to_owned()).filter(|shown| !shown.is_empty())
        }

        fn has_exited(&mut self) -> bool {
            self.0.is_empty()
        }
    }

    fn waited(start: &StartConfig, screens: &[&'static str]) -> Readiness {
        wait_with_timeout(Duration::from_secs(5), start, &mut Screens(screens.to_vec()))
    }

    #[test]
    fn waits_for_what_the_configuration_names() {
        let named = StartConfig { process_names: Some(vec!["a".into(), "b".into()]), ..StartConfig::default() };
        assert_eq!(waited(&named, &["sh", "", "b"]), Readiness::Ready);
        assert_eq!(waited(&named, &["sh", "ab"]), Readiness::Exited);
        let prompt = StartConfig { ready_prompt_prefix: Some("❯ ".into()), ..StartConfig::default() };
        assert_eq!(waited(&prompt, &["x ❯", "", "hello\n ❯\u{a0}type here"]), Readiness::Ready);
        assert_eq!(waited(&prompt, &["x ❯"]), Readiness::Exited);
        let both = StartConfig { process_names: Some(vec!["b".into()]), ..prompt.clone() };
        assert_eq!(waited(&both, &["b", "x", "❯"]), Readiness::Ready);
        let delay = StartConfig { ready_delay_ms: Some(1), ..StartConfig::default() };
        assert_eq!(waited(&delay, &["x"]), Readiness::Ready);
        assert_eq!(waited(&delay, &[]), Readiness::Exited);
        assert_eq!(waited(&StartConfig::default(), &[]), Readiness::Ready);
    }

    #[test]
    fn missing_readiness_is_late_and_names_what_is_missing() {
        struct Never;
        impl ReadinessProbe for Never {
            fn has_program(&mut self, _: &[String]) -> Option<bool> {
                None
            }
            fn screen(&mut self) -> Option<String> {
                None
            }
            fn has_exited(&mut self) -> bool {
                false
            }
        }
        let start = StartConfig { process_names: Some(vec!["a".into()]), ..StartConfig::default() };
        let Readiness::TimedOut(why) = wait_with_timeout(Duration::from_millis(20), &start, &mut Never) else {
            panic!()
        };
        assert!(why.starts_with("none of a runs"), "{why}");
    }
}
