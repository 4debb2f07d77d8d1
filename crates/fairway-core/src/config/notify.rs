//! The settings of notifications.

use std::collections::BTreeMap;
use std::time::Duration;

use super::section::{Wrong, section};
use super::values::{NonBlank, reader};
use crate::domain::id::SinkName;
use crate::domain::need::NeedKind;
use crate::domain::notification::{NotifySink, QuietWindow};

section! {
    /// The settings of notifications.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct NotifySettings {
        /// Where items of "needs you" are sent: bell, osc, desktop, command, or a name of yours; none by default.
        pub sinks: Vec<SinkName> as Sinks = [],
        /// Shell command of the sink command; the notification is on stdin as JSON.
        #[sample("examples/notify/webhook.sh")]
        pub command: Option<String> as NonBlank,
        /// How long the command of a sink may take.
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
        /// Notifications carry allow, deny and answer: who reads one can answer its item once.
        pub actions: bool = false,
    }
    parts {
        /// What differs at a sink.
        pub per_sink: BTreeMap<String, OneSink>,
    }
}

section! {
    /// What differs at one sink; `None` for what is as in `[notify]`.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct OneSink {
        /// What differs at one sink: its own shell command, which a sink with a name of yours needs.
        #[sample("~/.local/bin/fairway-ntfy")]
        command: Option<String> as NonBlank,
        /// The kinds that are sent to it.
        #[sample(["approval", "dead"])]
        kinds: Option<Vec<NeedKind>>,
        /// Whether its notifications carry allow, deny and answer.
        #[sample(true)]
        actions: Option<bool>,
    }
}

reader! {
    /// Each sink once.
    Sinks(Vec<SinkName>) -> Vec<SinkName>;
    |sinks: &Vec<SinkName>| {
        let mut once: Vec<SinkName> = Vec::new();
        for sink in sinks {
            if !once.contains(sink) {
                once.push(sink.clone());
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

/// The settings of a sink, its own before the common ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinkSettings<'a> {
    pub name: SinkName,
    /// The way by which it sends.
    pub way: NotifySink,
    /// The shell command of a sink that runs one.
    pub command: Option<&'a str>,
    pub command_timeout: Duration,
    /// The kinds of items that are sent; `None` for every kind.
    pub kinds: Option<&'a [NeedKind]>,
    pub actions: bool,
}

impl NotifySettings {
    /// The settings of a sink, even if `sinks` does not name it. A key that the sink's own entry does not set has its common
    /// value, except that the common `command` counts only for the built-in sink `command`.
    pub fn sink(&self, name: &SinkName) -> SinkSettings<'_> {
        let way = NotifySink::of(name);
        let own = self.per_sink.get(name.as_str());
        // A sink of one's own has a program of its own.
        let common = self.command.as_deref().filter(|_| NotifySink::parse(name.as_str()).is_some());
        SinkSettings {
            name: name.clone(),
            way,
            command: own.and_then(|own| own.command.as_deref()).or(common).filter(|_| way == NotifySink::Command),
            command_timeout: self.command_timeout,
            kinds: own.and_then(|own| own.kinds.as_deref()).or(self.kinds.as_deref()),
            actions: own.and_then(|own| own.actions).unwrap_or(self.actions),
        }
    }

    /// Whether items of this kind are sent in the quiet window too.
    pub fn is_urgent(&self, kind: &str) -> bool {
        self.quiet_kinds.iter().any(|known| known.as_str() == kind)
    }

    /// Every shell command that the settings of a sink contain, each with its key.
    pub fn commands(&self) -> impl Iterator<Item = (String, &str)> {
        let own = self
            .per_sink
            .iter()
            .filter_map(|(name, own)| Some((format!("notify.per_sink.{name}.command"), own.command.as_deref()?)));
        self.command.iter().map(|command| ("notify.command".to_owned(), command.as_str())).chain(own)
    }

    /// Checks that the settings fit together: only a sink that runs a program has a command, and every sink in use that needs a
    /// command has one. The error names the wrong key.
    pub(super) fn check(&self) -> Result<(), Wrong> {
        for (text, own) in &self.per_sink {
            let key = format!("notify.per_sink.{text}");
            let name = SinkName::parse(text).map_err(|why| Wrong::at(key.as_str(), why))?;
            if own.command.is_some() && NotifySink::of(&name) != NotifySink::Command {
                return Err(Wrong::at(format!("{key}.command"), format!("{text} runs no program")));
            }
        }
        let mut sinks = self.sinks.iter().map(|name| self.sink(name));
        let missing = sinks.find(|sink| sink.way == NotifySink::Command && sink.command.is_none());
        let Some(sink) = missing else { return Ok(()) };
        let why = if NotifySink::parse(sink.name.as_str()).is_some() {
            "has 'command', and notify.command is not set".to_owned()
        } else {
            let known: Vec<&str> = NotifySink::ALL.iter().map(|sink| sink.as_str()).collect();
            format!("has '{0}': name one of {1}, or set notify.per_sink.{0}.command", sink.name, known.join(", "))
        };
        Err(Wrong::at("notify.sinks", why))
    }
}

impl SinkSettings<'_> {
    /// Whether items of this kind are sent. When no kinds are set, items of every kind are.
    pub fn wants(&self, kind: &str) -> bool {
        self.kinds.is_none_or(|kinds| kinds.iter().any(|known| known.as_str() == kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    fn name(text: &str) -> SinkName {
        SinkName::parse(text).unwrap()
    }

    fn read(text: &str) -> Result<NotifySettings, (String, String)> {
        Settings::parse(&format!("[notify]\n{text}")).map(|settings| settings.notify)
    }

    #[test]
    fn section_is_read_and_each_wrong_key_is_named() {
        let usual = read("").unwrap();
        assert_eq!((usual.sinks.len(), usual.command_timeout.as_secs(), usual.quiet), (0, 10, None));
        let wants = |settings: &NotifySettings, sink: &str, kind: &str| settings.sink(&name(sink)).wants(kind);
        assert!(wants(&usual, "bell", "approval") && wants(&usual, "bell", "prompt"));
        let some = read("sinks = ['bell', 'command', 'bell']\ncommand = 'x'\nkinds = ['gate']\nquiet = '22:00-07:00'");
        let some = some.unwrap();
        assert_eq!(some.sinks, [name("bell"), name("command")]);
        assert!(wants(&some, "bell", "gate") && !wants(&some, "bell", "approval"));
        for (text, key) in [
            ("sinks = ['mail']", "notify.sinks"),
            ("sinks = ['command']", "notify.sinks"),
            ("sinks = ['command']\ncommand = ' '", "notify.sinks"),
            ("kinds = ['approvals']", "notify.kinds"),
            ("quiet = '22-7'", "notify.quiet"),
            ("quiet_kinds = ['approvals']", "notify.quiet_kinds"),
            ("command_timeout = '0s'", "notify.command_timeout"),
            ("command_timeout = '1h'", "notify.command_timeout"),
            ("sinks = ['a b']", "notify.sinks"),
            ("sinks = ['phone']\ncommand = 'x'", "notify.sinks"),
            ("[notify.per_sink.'a b']\nkinds = []", "notify.per_sink.a b"),
            ("[notify.per_sink.bell]\ncommand = 'x'", "notify.per_sink.bell.command"),
            ("[notify.per_sink.phone]\nkinds = ['approvals']", "notify.per_sink.phone.kinds"),
        ] {
            assert_eq!(read(text).unwrap_err().0, key, "{text}");
        }
    }
    #[test]
    fn sink_has_its_own_settings_before_the_common_ones() {
        let text = "sinks = ['bell', 'phone']\nkinds = ['gate']\nquiet_kinds = ['dead']\n\
                    [notify.per_sink.phone]\ncommand = 'x'\nkinds = ['approval']\nactions = true";
        let settings = read(text).unwrap();
        let (bell, phone) = (settings.sink(&name("bell")), settings.sink(&name("phone")));
        assert_eq!((bell.way, bell.command, bell.actions), (NotifySink::Bell, None, false));
        assert!(bell.wants("gate") && settings.is_urgent("dead") && !settings.is_urgent("gate"));
        assert_eq!((phone.way, phone.command, phone.actions), (NotifySink::Command, Some("x"), true));
        assert_eq!(phone.command_timeout.as_secs(), 10);
        assert!(phone.wants("approval") && !phone.wants("gate"));
        assert_eq!(settings.commands().collect::<Vec<_>>(), [("notify.per_sink.phone.command".to_owned(), "x")]);
        let common = read("sinks = ['command']\ncommand = 'y'\n[notify.per_sink.command]\nactions = true").unwrap();
        assert_eq!(common.sink(&name("command")).command, Some("y"));
    }
}
