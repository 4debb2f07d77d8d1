//! The settings of notifications.

use std::time::Duration;

use serde::Deserialize;

use super::{duration, values::unknown_value};
use crate::domain::{
    need::NeedKind,
    notification::{NotifySink, QuietWindow},
};

/// The settings of notifications.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotifySettings {
    /// The sinks, each once; empty: nothing is sent.
    pub sinks: Vec<NotifySink>,
    /// The shell command of the sink `command`.
    pub command: Option<String>,
    /// The time limit of that command.
    pub command_timeout: Duration,
    /// The kinds of items that are sent; `None` for every kind.
    pub kinds: Option<Vec<NeedKind>>,
    /// The part of the day in which nothing is sent.
    pub quiet: Option<QuietWindow>,
}

impl NotifySettings {
    /// Whether items of this kind are sent.
    #[must_use]
    pub fn wants(&self, kind: &str) -> bool {
        self.kinds.as_ref().is_none_or(|kinds| kinds.iter().any(|known| known.as_str() == kind))
    }
}

/// The section as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Raw {
    sinks: Vec<String>,
    command: Option<String>,
    command_timeout: Option<String>,
    kinds: Option<Vec<String>>,
    quiet: Option<String>,
}

impl Raw {
    /// The settings; a key that is not set has its default.
    ///
    /// # Errors
    /// The key, and why its value is invalid.
    pub(super) fn into_settings(self) -> Result<NotifySettings, (&'static str, String)> {
        let mut sinks = Vec::new();
        for word in &self.sinks {
            let known = NotifySink::ALL.iter().map(|sink| sink.as_str()).collect::<Vec<_>>();
            let sink = NotifySink::parse(word).ok_or_else(|| ("notify.sinks", unknown_value(word, &known)))?;
            if !sinks.contains(&sink) {
                sinks.push(sink);
            }
        }
        let command = self.command.filter(|text| !text.trim().is_empty());
        if sinks.contains(&NotifySink::Command) && command.is_none() {
            return Err(("notify.sinks", "has 'command', and notify.command is not set".into()));
        }
        let kind = |word: &String| {
            let known = NeedKind::ALL.iter().map(|kind| kind.as_str()).collect::<Vec<_>>();
            NeedKind::parse(word).ok_or_else(|| ("notify.kinds", unknown_value(word, &known)))
        };
        let timeout = duration::parse(self.command_timeout.as_deref().unwrap_or("10s"));
        let timeout = timeout.map_err(|why| ("notify.command_timeout", why))?;
        if timeout < Duration::from_millis(100) || timeout > Duration::from_secs(300) {
            return Err(("notify.command_timeout", "must be at least 100ms and at most 5m".into()));
        }
        Ok(NotifySettings {
            sinks,
            command,
            command_timeout: timeout,
            kinds: self.kinds.map(|kinds| kinds.iter().map(kind).collect()).transpose()?,
            quiet: self
                .quiet
                .filter(|text| !text.trim().is_empty())
                .map(|text| QuietWindow::parse(&text).map_err(|why| ("notify.quiet", why)))
                .transpose()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<NotifySettings, (&'static str, String)> {
        toml::from_str::<Raw>(text).unwrap().into_settings()
    }

    #[test]
    fn section_is_read_and_each_wrong_key_is_named() {
        let usual = read("").unwrap();
        assert_eq!((usual.sinks.len(), usual.command_timeout.as_secs(), usual.quiet), (0, 10, None));
        assert!(usual.wants("approval") && usual.wants("prompt"));
        let some = read("sinks = ['bell', 'command', 'bell']\ncommand = 'x'\nkinds = ['gate']\nquiet = '22:00-07:00'");
        let some = some.unwrap();
        assert_eq!(some.sinks, [NotifySink::Bell, NotifySink::Command]);
        assert!(some.wants("gate") && !some.wants("approval"));
        for (text, key) in [
            ("sinks = ['mail']", "notify.sinks"),
            ("sinks = ['command']", "notify.sinks"),
            ("sinks = ['command']\ncommand = ' '", "notify.sinks"),
            ("kinds = ['approvals']", "notify.kinds"),
            ("quiet = '22-7'", "notify.quiet"),
            ("command_timeout = '0s'", "notify.command_timeout"),
            ("command_timeout = '1h'", "notify.command_timeout"),
        ] {
            assert_eq!(read(text).unwrap_err().0, key, "{text}");
        }
    }
}
