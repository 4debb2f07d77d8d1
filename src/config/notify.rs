//! The settings of notifications.

use std::time::Duration;

use serde::{Deserialize, Deserializer, de::Error};

use super::values;
use crate::domain::{
    need::NeedKind,
    notification::{NotifySink, QuietWindow},
};

/// The settings of notifications.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct NotifySettings {
    /// The sinks, each once; empty: nothing is sent.
    #[serde(deserialize_with = "sinks")]
    pub sinks: Vec<NotifySink>,
    /// The shell command of the sink `command`.
    #[serde(deserialize_with = "values::non_blank")]
    pub command: Option<String>,
    /// The time limit of that command.
    #[serde(deserialize_with = "command_timeout")]
    pub command_timeout: Duration,
    /// The kinds of items that are sent; `None` for every kind.
    #[serde(deserialize_with = "kinds")]
    pub kinds: Option<Vec<NeedKind>>,
    /// The part of the day in which nothing is sent.
    #[serde(deserialize_with = "quiet")]
    pub quiet: Option<QuietWindow>,
    /// The kinds of items that are sent then all the same.
    #[serde(deserialize_with = "values::words")]
    pub quiet_kinds: Vec<NeedKind>,
}

impl Default for NotifySettings {
    fn default() -> Self {
        Self {
            sinks: Vec::new(),
            command: None,
            command_timeout: Duration::from_secs(10),
            kinds: None,
            quiet: None,
            quiet_kinds: Vec::new(),
        }
    }
}

fn sinks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<NotifySink>, D::Error> {
    let mut sinks = Vec::new();
    for sink in values::words(deserializer)? {
        if !sinks.contains(&sink) {
            sinks.push(sink);
        }
    }
    Ok(sinks)
}

fn command_timeout<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let timeout = values::span(deserializer)?;
    if timeout < Duration::from_millis(100) || timeout > Duration::from_secs(300) {
        return Err(D::Error::custom("must be at least 100ms and at most 5m"));
    }
    Ok(timeout)
}

fn kinds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<NeedKind>>, D::Error> {
    values::words(deserializer).map(Some)
}

fn quiet<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<QuietWindow>, D::Error> {
    values::parsed(deserializer, |text| {
        Some(text).filter(|text| !text.trim().is_empty()).map(QuietWindow::parse).transpose()
    })
}

impl NotifySettings {
    /// Whether items of this kind are sent.
    pub fn wants(&self, kind: &str) -> bool {
        self.kinds.as_ref().is_none_or(|kinds| kinds.iter().any(|known| known.as_str() == kind))
    }

    /// Why the keys do not fit together, and which one is wrong.
    ///
    /// # Errors
    /// The key and the reason.
    pub(super) fn check(&self) -> Result<(), (String, String)> {
        if self.sinks.contains(&NotifySink::Command) && self.command.is_none() {
            return Err(("notify.sinks".into(), "has 'command', and notify.command is not set".into()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    fn read(text: &str) -> Result<NotifySettings, (String, String)> {
        Settings::parse(&format!("[notify]\n{text}")).map(|settings| settings.notify)
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
            ("quiet_kinds = ['approvals']", "notify.quiet_kinds"),
            ("command_timeout = '0s'", "notify.command_timeout"),
            ("command_timeout = '1h'", "notify.command_timeout"),
        ] {
            assert_eq!(read(text).unwrap_err().0, key, "{text}");
        }
    }
}
