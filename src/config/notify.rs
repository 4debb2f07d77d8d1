//! The settings of notifications.

use std::time::Duration;

use super::{
    section::{Wrong, section},
    values::{NonBlank, reader},
};
use crate::domain::{
    need::NeedKind,
    notification::{NotifySink, QuietWindow},
};

section! {
    /// The settings of notifications.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct NotifySettings {
        /// Where items of "needs you" are sent: bell, osc, desktop, command; none by default.
        pub sinks: Vec<NotifySink> as Sinks = [],
        /// Shell command of the sink command; the notification is on stdin as JSON.
        #[sample("examples/notify/webhook.sh")]
        pub command: Option<String> as NonBlank,
        /// How long that command may take.
        pub command_timeout: Duration as CommandTimeout = "10s",
        /// The kinds of items that are sent; every kind when it is not set.
        #[sample(["approval", "question"])]
        pub kinds: Option<Vec<NeedKind>>,
        /// Local time in which nothing is sent; what is still open when it ends comes as one summary.
        #[sample("22:00-07:00")]
        pub quiet: Option<QuietWindow> as Quiet,
        /// The kinds of items that are sent in that time all the same; none by default.
        #[sample(["approval", "dead"])]
        pub quiet_kinds: Vec<NeedKind>,
    }
}

reader! {
    /// Each sink once.
    Sinks(Vec<NotifySink>) -> Vec<NotifySink>;
    |sinks: &Vec<NotifySink>| {
        let mut once = Vec::new();
        for sink in sinks {
            if !once.contains(sink) {
                once.push(*sink);
            }
        }
        Ok::<_, Wrong>(once)
    }
}
reader! {
    CommandTimeout(Duration) -> Duration;
    |timeout: &Duration| {
        let is_inside = *timeout >= Duration::from_millis(100) && *timeout <= Duration::from_secs(300);
        if is_inside { Ok(*timeout) } else { Err("must be at least 100ms and at most 5m") }
    }
}
reader! {
    Quiet(String) -> Option<QuietWindow>;
    |text: &String| Some(text).filter(|text| !text.trim().is_empty()).map(|text| QuietWindow::parse(text)).transpose();
    None
}

impl NotifySettings {
    /// Whether items of this kind are sent.
    pub fn wants(&self, kind: &str) -> bool {
        self.kinds.as_ref().is_none_or(|kinds| kinds.iter().any(|known| known.as_str() == kind))
    }

    /// Why the keys do not fit together, and which one is wrong.
    pub(super) fn check(&self) -> Result<(), Wrong> {
        if self.sinks.contains(&NotifySink::Command) && self.command.is_none() {
            return Err(Wrong::at("notify.sinks", "has 'command', and notify.command is not set"));
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
