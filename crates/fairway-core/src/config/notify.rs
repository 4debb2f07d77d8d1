//! The settings of notifications.

use std::collections::BTreeMap;

use super::section::{Wrong, section};
use super::values::{NonBlank, reader};
use crate::domain::id::SinkName;
use crate::domain::need::NeedKind;
use crate::domain::notification::{NotifySink, QuietWindow};

section! {
    /// The settings of notifications.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct NotifySettings {
        /// Where items of "needs you" are sent: bell, osc, desktop, or a name of yours with its command; none by default.
        pub sinks: Vec<SinkName> as Sinks = [],
        /// Local time in which nothing is sent; what is still open when it ends comes as one summary.
        #[sample("22:00-07:00")]
        pub quiet: Option<QuietWindow> as Quiet,
        /// The kinds of items that are sent in that time all the same; none by default.
        #[sample(["approval", "dead"])]
        pub quiet_kinds: Vec<NeedKind>,
    }
    parts {
        /// The settings of each sink.
        pub per_sink: BTreeMap<String, OneSink>,
    }
}

section! {
    /// The settings of one sink.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct OneSink {
        /// Shell command of a sink with a name of yours; the notification is on stdin as JSON.
        #[sample("~/.local/bin/fairway-ntfy")]
        command: Option<String> as NonBlank,
        /// The kinds of items that are sent to it; every kind when it is not set.
        #[sample(["approval", "dead"])]
        kinds: Option<Vec<NeedKind>>,
        /// Its notifications carry allow, deny and answer: who reads one can answer its item once.
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
    Quiet(String) -> Option<QuietWindow>;
    |text: &String| Some(text).filter(|text| !text.trim().is_empty()).map(|text| QuietWindow::parse(text)).transpose();
    None
}

/// A sink with its settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinkSettings<'a> {
    pub name: SinkName,
    /// The way by which it sends.
    pub way: NotifySink,
    /// The shell command of a sink that runs one.
    pub command: Option<&'a str>,
    /// The kinds of items that are sent; `None` for every kind.
    pub kinds: Option<&'a [NeedKind]>,
    pub actions: bool,
}

impl NotifySettings {
    /// The settings of a sink, even if `sinks` does not name it.
    pub fn sink(&self, name: &SinkName) -> SinkSettings<'_> {
        let way = NotifySink::of(name);
        let own = self.per_sink.get(name.as_str());
        SinkSettings {
            name: name.clone(),
            way,
            command: own.and_then(|own| own.command.as_deref()),
            kinds: own.and_then(|own| own.kinds.as_deref()),
            actions: own.is_some_and(|own| own.actions == Some(true)),
        }
    }

    /// Whether items of this kind are sent in the quiet window too.
    pub fn is_urgent(&self, kind: &str) -> bool {
        self.quiet_kinds.iter().any(|known| known.as_str() == kind)
    }

    /// Every shell command of a sink.
    pub fn commands(&self) -> impl Iterator<Item = &str> {
        self.per_sink.values().filter_map(|own| own.command.as_deref())
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
        let why = format!(
            "has '{0}': name one of {1}, or set notify.per_sink.{0}.command",
            sink.name,
            NotifySink::built_in().join(", ")
        );
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
        assert_eq!((usual.sinks.len(), usual.quiet), (0, None));
        let bell = usual.sink(&name("bell"));
        assert_eq!((bell.way, bell.command, bell.actions, bell.wants("prompt")), (NotifySink::Bell, None, false, true));
        let some = read("sinks = ['bell', 'osc', 'bell']\nquiet = '22:00-07:00'").unwrap();
        assert_eq!(some.sinks, [name("bell"), name("osc")]);
        for (text, key) in [
            ("sinks = ['mail']", "notify.sinks"),
            ("sinks = ['phone']\n[notify.per_sink.phone]\ncommand = ' '", "notify.sinks"),
            ("quiet = '22-7'", "notify.quiet"),
            ("quiet_kinds = ['approvals']", "notify.quiet_kinds"),
            ("sinks = ['a b']", "notify.sinks"),
            ("[notify.per_sink.'a b']\nkinds = []", "notify.per_sink.a b"),
            ("[notify.per_sink.bell]\ncommand = 'x'", "notify.per_sink.bell.command"),
            ("[notify.per_sink.phone]\nkinds = ['approvals']", "notify.per_sink.phone.kinds"),
        ] {
            assert_eq!(read(text).unwrap_err().0, key, "{text}");
        }
    }
    #[test]
    fn sink_has_settings_of_its_own() {
        let text = "sinks = ['bell', 'phone']\nquiet_kinds = ['dead']\n[notify.per_sink.bell]\nkinds = ['gate']\n\
                    [notify.per_sink.phone]\ncommand = 'x'\nkinds = ['approval']\nactions = true";
        let settings = read(text).unwrap();
        let (bell, phone) = (settings.sink(&name("bell")), settings.sink(&name("phone")));
        assert!(bell.wants("gate") && !bell.wants("approval") && !bell.actions);
        assert!(settings.is_urgent("dead") && !settings.is_urgent("gate"));
        assert_eq!((phone.way, phone.command, phone.actions), (NotifySink::Command, Some("x"), true));
        assert!(phone.wants("approval") && !phone.wants("gate"));
        assert_eq!(settings.commands().collect::<Vec<_>>(), ["x"]);
    }
}
