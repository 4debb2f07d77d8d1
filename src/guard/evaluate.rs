//! From rules and a call to a decision.

use super::{
    Action, Rule, Rules, Usual,
    matching::{self, Meant},
    shell::{Scan, Seen, arg::Arg},
    tool_names, write_targets,
};
use crate::domain::{Role, rules::globs};

/// The shell text of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Script {
    /// A text that a shell reads.
    Text(String),
    /// The words of one command, which no shell reads.
    Words(Vec<String>),
    /// Something else stands in its place.
    Odd(String),
}

/// The paths that a call of a file tool names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Paths {
    /// These; none when it names none.
    Told(Vec<String>),
    /// Something else stands in their place.
    Odd(String),
}

/// A tool call, as far as rules look at it.
#[derive(Debug, Clone)]
pub struct Call {
    /// The tool's names, its own first.
    pub names: Vec<String>,
    /// The session's role.
    pub role: Role,
    /// Its shell text, under every name that it may stand under; none when it has none.
    pub scripts: Vec<Script>,
    /// Its paths.
    pub paths: Paths,
}

/// Where a path leads, links and all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Into the worktree: so, relative to it.
    Inside(String),
    /// Out of it: so.
    Outside(String),
    /// It cannot be told, and why.
    Unknown(String),
}

/// What a rule made of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// The rule's name.
    pub rule: String,
    /// Whether it means the call.
    pub matched: bool,
    /// Why, or why not.
    pub why: String,
}

/// A decision, and how it came about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// Whether the call may be made.
    pub allowed: bool,
    /// Whether a rule allows it by name.
    pub granted: bool,
    /// The rule that decided.
    pub rule: Option<String>,
    /// Why.
    pub reason: String,
    /// Each simple command that was found.
    pub commands: Vec<String>,
    /// What cannot be told about the text.
    pub doubts: Vec<String>,
    /// Each rule that looked.
    pub looks: Vec<Look>,
}

/// What a rule made of a call, in short.
enum Found {
    No(String),
    Maybe(String),
    Yes(String),
}

/// The call as rules look at it, taken apart once.
struct View<'a> {
    call: &'a Call,
    place: &'a dyn Fn(&str, &[String]) -> Place,
    scans: Vec<Scan>,
    doubts: Vec<String>,
    is_shell: bool,
}

/// Judges a call. `place` tells where a path leads that is relative to the last of these folders; none: to where the call is
/// made from.
#[must_use]
pub fn judge(rules: &Rules, call: &Call, place: &dyn Fn(&str, &[String]) -> Place) -> Judgement {
    let mut judgement = Judgement {
        allowed: false,
        granted: false,
        rule: None,
        reason: String::new(),
        commands: Vec::new(),
        doubts: Vec::new(),
        looks: Vec::new(),
    };
    if let Some(why) = rules.barred(&call.names, &call.role) {
        judgement.reason = why;
        judgement.rule = Some(format!("roles.{}", call.role));
        return judgement;
    }
    let speaking: Vec<&Rule> = rules.rules.iter().filter(|rule| rule.speaks_of(&call.names, &call.role)).collect();
    let view = View::of(call, place, speaking.iter().any(|rule| rule.looks_inside()));
    judgement.commands = view.commands();
    judgement.doubts.clone_from(&view.doubts);
    let (mut denied, mut doubtful, mut granted): (Option<&Rule>, Option<(&Rule, String)>, Option<&Rule>) =
        (None, None, None);
    let allowing: Vec<&Rule> = speaking.iter().copied().filter(|rule| rule.action == Action::Allow).collect();
    for rule in &speaking {
        let found = match rule.action {
            Action::Deny => view.denied(rule),
            Action::Allow => view.allowed(rule, &allowing),
        };
        let (matched, why) = match found {
            Found::No(why) => (false, why),
            Found::Yes(why) => {
                let first = if rule.action == Action::Deny { &mut denied } else { &mut granted };
                first.get_or_insert(rule);
                (true, why)
            }
            Found::Maybe(why) => {
                doubtful.get_or_insert_with(|| (rule, why.clone()));
                (true, format!("it cannot be told: {why}"))
            }
        };
        judgement.looks.push(Look { rule: rule.name.clone(), matched, why });
    }
    let why_of = |name: &str| judgement.looks.iter().find(|look| look.rule == name).map(|look| look.why.clone());
    match (denied, doubtful, granted) {
        (Some(rule), ..) => {
            judgement.reason = rule.reason.clone().or_else(|| why_of(&rule.name)).unwrap_or_default();
            judgement.rule = Some(rule.name.clone());
        }
        (None, Some((rule, why)), _) => {
            let said = rule.reason.as_ref().map(|reason| format!("{reason}; ")).unwrap_or_default();
            judgement.reason = format!("{said}whether this does it cannot be told: {why}; write it out plainly");
            judgement.rule = Some(rule.name.clone());
        }
        (None, None, Some(rule)) => {
            (judgement.allowed, judgement.granted) = (true, true);
            judgement.reason = rule.reason.clone().or_else(|| why_of(&rule.name)).unwrap_or_default();
            judgement.rule = Some(rule.name.clone());
        }
        (None, None, None) => {
            judgement.allowed = rules.usual == Usual::Allow;
            let why = if judgement.allowed { "no rule denies it" } else { "no rule allows it" };
            why.clone_into(&mut judgement.reason);
        }
    }
    judgement
}

impl<'a> View<'a> {
    fn of(call: &'a Call, place: &'a dyn Fn(&str, &[String]) -> Place, looks_inside: bool) -> Self {
        let (mut scans, mut doubts) = (Vec::new(), Vec::new());
        for script in call.scripts.iter().filter(|_| looks_inside) {
            let scan = match script {
                Script::Text(text) => Scan::of_text(text),
                Script::Words(words) => Scan::of_words(words),
                Script::Odd(why) => {
                    doubts.push(why.clone());
                    continue;
                }
            };
            doubts.extend(scan.doubts.iter().cloned());
            scans.push(scan);
        }
        let is_shell = !call.scripts.is_empty() || tool_names::is_shell(&call.names);
        Self { call, place, scans, doubts, is_shell }
    }

    fn commands(&self) -> Vec<String> {
        let sure = self.scans.iter().flat_map(|scan| &scan.seen).filter(|seen| seen.is_sure);
        sure.map(|seen| seen.argv.iter().map(Arg::shown).collect::<Vec<_>>().join(" ")).collect()
    }

    fn denied(&self, rule: &Rule) -> Found {
        if !rule.looks_inside() {
            return Found::Yes("it means every call of the tool".to_owned());
        }
        if !rule.command.is_empty() {
            return self.denied_command(rule);
        }
        if self.is_shell { self.denied_writes(rule) } else { self.denied_paths(rule) }
    }

    fn denied_command(&self, rule: &Rule) -> Found {
        if self.call.scripts.is_empty() {
            return if self.is_shell || !rule.tools.is_empty() {
                Found::Maybe("the call has no command".to_owned())
            } else {
                Found::No("the call runs no command".to_owned())
            };
        }
        let mut doubt = self.doubts.first().cloned();
        for scan in &self.scans {
            for seen in &scan.seen {
                let meant = matching::denies(rule, seen);
                if meant == Meant::No {
                    continue;
                }
                let shown = seen.argv.iter().map(Arg::shown).collect::<Vec<_>>().join(" ");
                if rule.is_of_paths() {
                    let mut paths = write_targets::of_command(seen);
                    if paths.is_empty() {
                        paths = seen.argv.iter().skip(1).filter(|arg| !arg.head().starts_with('-')).cloned().collect();
                    }
                    match (self.meant_paths(rule, &paths, scan), meant) {
                        (Found::No(_), _) => {}
                        (Found::Yes(why), Meant::Yes) => return Found::Yes(why),
                        (Found::Yes(why) | Found::Maybe(why), _) => doubt = doubt.or(Some(why)),
                    }
                    continue;
                }
                match meant {
                    Meant::Yes => return Found::Yes(format!("'{shown}' is meant")),
                    Meant::Maybe(why) => doubt = doubt.or(Some(format!("in '{shown}' {why}"))),
                    Meant::No => {}
                }
            }
        }
        match doubt {
            Some(why) => Found::Maybe(why),
            None => Found::No("no command in it is meant".to_owned()),
        }
    }

    /// Whether a shell command writes where the rule means.
    fn denied_writes(&self, rule: &Rule) -> Found {
        if self.call.scripts.is_empty() {
            return Found::Maybe("the call has no command".to_owned());
        }
        let mut doubt = self.doubts.first().cloned();
        for scan in &self.scans {
            let paths = if rule.outside { write_targets::of(scan) } else { write_targets::words(scan) };
            match self.meant_paths(rule, &paths, scan) {
                Found::Yes(why) => return Found::Yes(why),
                Found::Maybe(why) => doubt = doubt.or(Some(why)),
                Found::No(_) => {}
            }
        }
        match doubt {
            Some(why) => Found::Maybe(why),
            None => Found::No("it writes to no path that is meant".to_owned()),
        }
    }

    fn denied_paths(&self, rule: &Rule) -> Found {
        let told = match &self.call.paths {
            Paths::Odd(why) => return Found::Maybe(why.clone()),
            Paths::Told(told) if told.is_empty() => {
                return if rule.tools.is_empty() {
                    Found::No("the call names no path".to_owned())
                } else {
                    Found::Maybe("the call names no path".to_owned())
                };
            }
            Paths::Told(told) => told,
        };
        let paths: Vec<Arg> = told.iter().map(Arg::known).collect();
        self.meant_paths(rule, &paths, &Scan::default())
    }

    fn meant_paths(&self, rule: &Rule, paths: &[Arg], scan: &Scan) -> Found {
        let mut doubt = None;
        let (folders, is_lost) = self.folders(scan);
        for path in paths {
            let Some(text) = path.text() else {
                doubt.get_or_insert_with(|| format!("the path '{}' is an expansion", path.shown()));
                continue;
            };
            let is_absolute = text.starts_with('/');
            if is_lost && !is_absolute {
                doubt.get_or_insert_with(|| format!("where '{text}' lies depends on a folder that is changed to"));
            }
            for folders in folders.iter().take(if is_absolute { 1 } else { usize::MAX }) {
                match ((self.place)(text, if is_absolute { &[] } else { folders }), rule.outside) {
                    (Place::Outside(real), true) => {
                        return Found::Yes(format!("'{text}' leads to {real}, outside the worktree"));
                    }
                    (Place::Inside(inside), false) if rule.paths.iter().any(|glob| globs::matches(glob, &inside)) => {
                        return Found::Yes(format!("'{text}' is meant"));
                    }
                    (Place::Unknown(why), _) => {
                        doubt.get_or_insert(why);
                    }
                    (Place::Inside(_) | Place::Outside(_), _) => {}
                }
            }
        }
        match doubt {
            Some(why) => Found::Maybe(why),
            None => Found::No("no path in it is meant".to_owned()),
        }
    }

    /// The folders that a relative path may be relative to, each a way from where the call is made; and whether one of them
    /// cannot be told.
    fn folders(&self, scan: &Scan) -> (Vec<Vec<String>>, bool) {
        let mut ways: Vec<Vec<String>> = vec![Vec::new()];
        let mut is_lost = false;
        let said: &[String] = match (&self.call.paths, self.is_shell) {
            (Paths::Told(told), true) => told,
            (Paths::Odd(_), true) => {
                is_lost = true;
                &[]
            }
            _ => &[],
        };
        for folder in said.iter().cloned().map(Some).chain(scan.folders.iter().cloned()) {
            match folder {
                Some(folder) if ways.len() <= 64 => {
                    let more: Vec<Vec<String>> =
                        ways.iter().map(|way| way.iter().cloned().chain([folder.clone()]).collect()).collect();
                    ways.extend(more);
                }
                _ => is_lost = true,
            }
        }
        (ways, is_lost)
    }

    fn allowed(&self, rule: &Rule, allowing: &[&Rule]) -> Found {
        let no = |why: &str| Found::No(why.to_owned());
        if !rule.looks_inside() {
            return Found::Yes("it means every call of the tool".to_owned());
        }
        if !rule.command.is_empty() {
            let first = self.scans.first().and_then(|scan| scan.seen.first());
            if !first.is_some_and(|seen| matching::allows(rule, seen)) {
                return no("the first command is another");
            }
            let others = || allowing.iter().filter(|rule| !rule.command.is_empty());
            for scan in &self.scans {
                if scan.assigns {
                    return no("a variable is set too");
                }
                if !scan.writes.iter().all(|path| matches!(path.text(), Some("/dev/null"))) {
                    return no("a file is written too");
                }
                let is_meant = |seen: &Seen| others().any(|rule| matching::allows(rule, seen));
                if scan.seen.is_empty() || !scan.seen.iter().filter(|seen| seen.is_sure).all(is_meant) {
                    return no("another command stands in it too");
                }
            }
            return match self.doubts.first() {
                Some(why) => Found::No(why.clone()),
                None => Found::Yes("every command in it is meant".to_owned()),
            };
        }
        let told = match &self.call.paths {
            Paths::Told(told) if !told.is_empty() && !self.is_shell => told,
            _ => return no("the call names no path"),
        };
        let is_meant = |path: &String| match (self.place)(path, &[]) {
            Place::Inside(inside) => rule.paths.iter().any(|glob| globs::matches(glob, &inside)),
            _ => false,
        };
        if told.iter().all(is_meant) { Found::Yes("every path in it is meant".to_owned()) } else { no("another path") }
    }
}
