//! From rules and a call to a decision.

use std::rc::Rc;

use super::budget::{Budget, TOO_COMPLEX};
use super::matching::{self, MatchResult};
use super::shell::arg::Arg;
use super::shell::{FoundCommand, Place, ShellAnalysis};
use super::write_targets::{self, Target};
use super::{Action, DefaultAction, Rule, Rules, tool_names};
use crate::domain::Role;
use crate::domain::rules::globs;

/// The shell text of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShellInput {
    /// A text that a shell reads.
    Text(String),
    /// The arguments of one command that runs without a shell.
    Argv(Vec<String>),
    /// The input cannot be read as shell text; the reason.
    Unsupported(String),
}

/// The paths that a call of a file tool names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Paths {
    /// The paths; empty when the call names none.
    Known(Vec<String>),
    /// The input cannot be read as paths; the reason.
    Unsupported(String),
}

/// A tool call, as far as rules look at it.
#[derive(Debug, Clone)]
pub struct ToolCallFacts {
    /// The tool's names, its own first.
    pub names: Vec<String>,
    /// The session's role.
    pub role: Role,
    /// Its shell text, one entry for each input field that holds one; empty when there is none.
    pub shell_inputs: Vec<ShellInput>,
    pub paths: Paths,
    /// Whether it runs nothing but an agent's own commands of Fairway.
    pub is_own_verb: bool,
}

/// Where a path leads when all symbolic links are followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathLocation {
    /// Into the worktree; the path relative to it.
    Inside(String),
    /// Out of the worktree; the real path.
    Outside(String),
    /// Into the worktree, but to a file of the project's state or of git. It counts as outside.
    Protected {
        /// The path relative to the worktree.
        inside: String,
        /// The real path.
        real: String,
    },
    /// It cannot be determined; the reason.
    Unknown(String),
}

/// The trace of one rule for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleTrace {
    /// The rule's name.
    pub rule: String,
    /// Whether the rule matches the call.
    pub matched: bool,
    /// Why, or why not.
    pub why: String,
}

/// A decision, and how it came about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evaluation {
    /// Whether the call may be made.
    pub allowed: bool,
    /// Whether a rule allows it by name.
    pub explicitly_allowed: bool,
    /// The rule that decided.
    pub rule: Option<String>,
    /// Why.
    pub reason: String,
    /// Each simple command that was found.
    pub commands: Vec<String>,
    /// The parts of the text that cannot be determined.
    pub unresolved: Vec<String>,
    /// One entry for each rule that applies to the tool and the role.
    pub traces: Vec<RuleTrace>,
    /// The work that it took, at most [`super::MAX_STEPS`] and a little: beyond that the call is denied.
    pub steps: usize,
}

/// The steps of finding where a path leads: the system is asked about each part of it.
const PATH_STEPS: usize = 100;

/// Why an agent's own command is allowed.
pub const OWN_VERB_REASON: &str = "an agent's own command of Fairway";

/// The result of one rule for a call.
enum RuleMatch {
    No(String),
    Maybe(String),
    Yes(String),
}

/// The call as rules look at it, taken apart once.
struct CallAnalysis<'a> {
    call: &'a ToolCallFacts,
    locate: &'a dyn Fn(&str, &[String]) -> PathLocation,
    analyses: Vec<ShellAnalysis>,
    unresolved: Vec<String>,
    is_shell: bool,
    budget: Budget,
}

/// Judges a tool call by the rules. `place(path, directories)` must return where `path` leads after the shell has changed to each
/// of `directories` in turn, starting in the directory in which the call is made.
pub fn evaluate(rules: &Rules, call: &ToolCallFacts, place: &dyn Fn(&str, &[String]) -> PathLocation) -> Evaluation {
    let mut judgement = Evaluation {
        allowed: false,
        explicitly_allowed: false,
        rule: None,
        reason: String::new(),
        commands: Vec::new(),
        unresolved: Vec::new(),
        traces: Vec::new(),
        steps: 0,
    };
    if let Some(why) = rules.role_denial_reason(&call.names, &call.role) {
        judgement.reason = why;
        judgement.rule = Some(format!("roles.{}", call.role));
        return judgement;
    }
    let speaking: Vec<&Rule> = rules.rules.iter().filter(|rule| rule.applies_to(&call.names, &call.role)).collect();
    let view = CallAnalysis::new(call, place, speaking.iter().any(|rule| rule.inspects_input()));
    judgement.commands = view.commands();
    judgement.unresolved.clone_from(&view.unresolved);
    let (mut denied, mut doubtful, mut granted): (Option<&Rule>, Option<(&Rule, String)>, Option<&Rule>) =
        (None, None, None);
    let allowing: Vec<&Rule> = speaking.iter().copied().filter(|rule| rule.action == Action::Allow).collect();
    for rule in &speaking {
        let found = match rule.action {
            Action::Deny => view.match_deny(rule),
            Action::Allow => view.match_allow(rule, &allowing),
        };
        let (matched, why) = match found {
            RuleMatch::No(why) => (false, why),
            RuleMatch::Yes(why) => {
                let first = if rule.action == Action::Deny { &mut denied } else { &mut granted };
                first.get_or_insert(rule);
                (true, why)
            }
            RuleMatch::Maybe(why) => {
                doubtful.get_or_insert_with(|| (rule, why.clone()));
                (true, format!("unresolved: {why}"))
            }
        };
        judgement.traces.push(RuleTrace { rule: rule.name.clone(), matched, why });
    }
    judgement.steps = view.budget.steps();
    let why_of = |name: &str| judgement.traces.iter().find(|look| look.rule == name).map(|look| look.why.clone());
    match (denied, doubtful, granted) {
        (Some(rule), ..) => {
            judgement.reason = rule.reason.clone().or_else(|| why_of(&rule.name)).unwrap_or_default();
            judgement.rule = Some(rule.name.clone());
        }
        (None, Some((rule, why)), _) => {
            let said = rule.reason.as_ref().map(|reason| format!("{reason}; ")).unwrap_or_default();
            judgement.reason =
                format!("{said}cannot determine whether the rule applies: {why}; write the command out in full");
            judgement.rule = Some(rule.name.clone());
        }
        (None, None, Some(rule)) => {
            (judgement.allowed, judgement.explicitly_allowed) = (true, true);
            judgement.reason = rule.reason.clone().or_else(|| why_of(&rule.name)).unwrap_or_default();
            judgement.rule = Some(rule.name.clone());
        }
        (None, None, None) if call.is_own_verb => {
            (judgement.allowed, judgement.explicitly_allowed) = (true, true);
            OWN_VERB_REASON.clone_into(&mut judgement.reason);
        }
        (None, None, None) => {
            judgement.allowed = rules.default_action == DefaultAction::Allow;
            let why = if judgement.allowed { "no rule denies it" } else { "no rule allows it" };
            why.clone_into(&mut judgement.reason);
        }
    }
    judgement
}

/// Whether a text pushes without the hook of its session: it takes the hook away, or pushes as another user.
fn skips_push_hook(scan: &ShellAnalysis) -> bool {
    let changes_user = |seen: &FoundCommand| {
        let program = seen.argv.first().and_then(Arg::program);
        let has = |word: &str| seen.argv.iter().any(|arg| arg.text() == Some(word));
        matches!(program.as_deref(), Some("sudo" | "doas" | "su" | "runuser" | "systemd-run"))
            && has("git")
            && has("push")
    };
    scan.skips_git_hooks || scan.commands.iter().any(changes_user)
}

impl<'a> CallAnalysis<'a> {
    fn new(call: &'a ToolCallFacts, place: &'a dyn Fn(&str, &[String]) -> PathLocation, looks_inside: bool) -> Self {
        let (mut scans, mut doubts, budget) = (Vec::new(), Vec::new(), Budget::default());
        for script in call.shell_inputs.iter().filter(|_| looks_inside) {
            let scan = match script {
                ShellInput::Text(text) => ShellAnalysis::of_text(text, &budget),
                ShellInput::Argv(words) => ShellAnalysis::of_words(words, &budget),
                ShellInput::Unsupported(why) => {
                    doubts.push(why.clone());
                    continue;
                }
            };
            doubts.extend(scan.unresolved.iter().cloned());
            scans.push(scan);
        }
        let is_shell = !call.shell_inputs.is_empty() || tool_names::is_shell_tool(&call.names);
        Self { call, locate: place, analyses: scans, unresolved: doubts, is_shell, budget }
    }

    fn commands(&self) -> Vec<String> {
        let sure = self.analyses.iter().flat_map(|scan| &scan.commands).filter(|seen| seen.is_sure);
        sure.map(|seen| seen.argv.iter().map(Arg::quoted).collect::<Vec<_>>().join(" ")).collect()
    }

    fn match_deny(&self, rule: &Rule) -> RuleMatch {
        if !rule.inspects_input() {
            return RuleMatch::Yes("the rule matches every call of the tool".to_owned());
        }
        if !rule.command.is_empty() {
            return self.match_deny_command(rule);
        }
        if self.is_shell { self.match_deny_writes(rule) } else { self.match_deny_paths(rule) }
    }

    fn match_deny_command(&self, rule: &Rule) -> RuleMatch {
        if self.call.shell_inputs.is_empty() {
            return if self.is_shell || !rule.tools.is_empty() {
                RuleMatch::Maybe("the call has no command".to_owned())
            } else {
                RuleMatch::No("the call runs no command".to_owned())
            };
        }
        let mut doubt = self.unresolved.first().cloned();
        if rule.effect.is_some() && self.analyses.iter().any(skips_push_hook) {
            return RuleMatch::Yes("it would skip the hook that asks before a push".to_owned());
        }
        for scan in &self.analyses {
            for seen in &scan.commands {
                if self.budget.is_spent() {
                    return RuleMatch::Maybe(TOO_COMPLEX.to_owned());
                }
                let meant = matching::match_deny(rule, seen, &self.budget);
                if meant == MatchResult::No {
                    continue;
                }
                let shown = seen.argv.iter().map(Arg::display).collect::<Vec<_>>().join(" ");
                if rule.has_path_condition() {
                    self.budget.spend(seen.argv.len());
                    let mut paths = write_targets::command_targets(seen);
                    if paths.is_empty() {
                        let words = seen.argv.iter().skip(1).filter(|arg| !arg.head().starts_with('-'));
                        let target = |arg: &Arg| Target::of(arg.clone(), seen);
                        paths = words.map(target).collect();
                    }
                    match (self.match_paths(rule, &paths), meant) {
                        (RuleMatch::No(_), _) => {}
                        (RuleMatch::Yes(why), MatchResult::Yes) => return RuleMatch::Yes(why),
                        (RuleMatch::Yes(why) | RuleMatch::Maybe(why), _) => doubt = doubt.or(Some(why)),
                    }
                    continue;
                }
                match meant {
                    MatchResult::Yes => return RuleMatch::Yes(format!("'{shown}' matches")),
                    MatchResult::Maybe(why) => doubt = doubt.or(Some(format!("in '{shown}' {why}"))),
                    MatchResult::No => {}
                }
            }
        }
        let runs_named = |scan: &ShellAnalysis| {
            let runner = scan.runner.as_ref().filter(|_| !rule.has_path_condition())?;
            let is_named =
                self.budget.spend(scan.written.len() / 8) && matching::mentions(rule, &scan.written, &self.budget);
            is_named.then(|| format!("it writes a file that names the command, and {runner} may run it"))
        };
        let doubt = doubt.or_else(|| self.analyses.iter().find_map(runs_named));
        match doubt.or_else(|| self.budget.is_spent().then(|| TOO_COMPLEX.to_owned())) {
            Some(why) => RuleMatch::Maybe(why),
            None => RuleMatch::No("no command matches".to_owned()),
        }
    }

    /// Whether a shell command writes to a path of the rule.
    fn match_deny_writes(&self, rule: &Rule) -> RuleMatch {
        if self.call.shell_inputs.is_empty() {
            return RuleMatch::Maybe("the call has no command".to_owned());
        }
        let mut doubt = self.unresolved.first().cloned();
        for scan in &self.analyses {
            if !self.budget.spend(scan.commands.iter().map(|seen| 4 * seen.argv.len()).sum()) {
                return RuleMatch::Maybe(TOO_COMPLEX.to_owned());
            }
            let paths =
                if rule.outside { write_targets::written_paths(scan) } else { write_targets::possible_paths(scan) };
            match self.match_paths(rule, &paths) {
                RuleMatch::Yes(why) => return RuleMatch::Yes(why),
                RuleMatch::Maybe(why) => doubt = doubt.or(Some(why)),
                RuleMatch::No(_) => {}
            }
        }
        match doubt {
            Some(why) => RuleMatch::Maybe(why),
            None => RuleMatch::No("no written path matches".to_owned()),
        }
    }

    fn match_deny_paths(&self, rule: &Rule) -> RuleMatch {
        let told = match &self.call.paths {
            Paths::Unsupported(why) => return RuleMatch::Maybe(why.clone()),
            Paths::Known(told) if told.is_empty() => {
                return if rule.tools.is_empty() {
                    RuleMatch::No("the call names no path".to_owned())
                } else {
                    RuleMatch::Maybe("the call names no path".to_owned())
                };
            }
            Paths::Known(told) => told,
        };
        let target = |path| Target::new(Arg::known(path), &Rc::default());
        self.match_paths(rule, &told.iter().map(target).collect::<Vec<_>>())
    }

    fn match_paths(&self, rule: &Rule, targets: &[Target]) -> RuleMatch {
        let mut doubt = None;
        for target in targets {
            if self.budget.is_spent() {
                return RuleMatch::Maybe(TOO_COMPLEX.to_owned());
            }
            let found = self.match_path(rule, target);
            match found {
                RuleMatch::Yes(_) => return found,
                RuleMatch::Maybe(why) if !target.is_loose => {
                    doubt.get_or_insert(why);
                }
                RuleMatch::Maybe(_) | RuleMatch::No(_) => {}
            }
        }
        match doubt {
            Some(why) => RuleMatch::Maybe(why),
            None => RuleMatch::No("no path matches".to_owned()),
        }
    }

    fn match_path(&self, rule: &Rule, target: &Target) -> RuleMatch {
        let path = &target.path;
        if let Some(program) = target.by.filter(|_| rule.outside) {
            return RuleMatch::Yes(format!("{program} writes outside the worktree"));
        }
        if path.text().is_none() && path.head().starts_with("/dev/fd/") {
            return RuleMatch::No("a process reads it".to_owned());
        }
        let is_expansion = || format!("the path '{}' is an expansion", path.display());
        // A pattern stays below its directory, but which of the rule's globs it meets is not worked out.
        let words = path.candidates().filter(|words| rule.outside || !words.iter().any(|word| word.contains('*')));
        let Some(words) = words else {
            if target.is_loose && path.head().starts_with('/') && rule.outside {
                return RuleMatch::Yes(format!("'{}' may lead outside the worktree", path.display()));
            }
            return RuleMatch::Maybe(is_expansion());
        };
        let (directories, is_lost) = self.base_dirs(&target.place);
        self.budget.spend(directories.iter().map(|way| 1 + way.len()).sum());
        let mut doubt = None;
        for text in &words {
            let is_absolute = text.starts_with('/');
            if is_lost && !is_absolute {
                doubt.get_or_insert_with(|| format!("the location of '{text}' depends on a change of directory"));
            }
            for directories in directories.iter().take(if is_absolute { 1 } else { usize::MAX }) {
                if !self.budget.spend(PATH_STEPS + text.len() + directories.len()) {
                    return RuleMatch::Maybe(TOO_COMPLEX.to_owned());
                }
                match ((self.locate)(text, if is_absolute { &[] } else { directories }), rule.outside) {
                    (PathLocation::Protected { inside, .. }, true)
                        if target.is_git && inside.split('/').next() == Some(".git") => {}
                    (PathLocation::Outside(real) | PathLocation::Protected { real, .. }, true)
                        if !is_lost || is_absolute =>
                    {
                        return RuleMatch::Yes(format!("'{text}' leads to {real}, outside the worktree"));
                    }
                    (PathLocation::Inside(inside) | PathLocation::Protected { inside, .. }, false)
                        if rule.paths.iter().any(|glob| globs::matches(glob, &inside)) =>
                    {
                        return RuleMatch::Yes(format!("'{text}' matches"));
                    }
                    (PathLocation::Unknown(_), true) if target.is_loose && text.starts_with('~') => {
                        return RuleMatch::Yes(format!("'{text}' may lead outside the worktree"));
                    }
                    (PathLocation::Unknown(why), _) => {
                        doubt.get_or_insert(why);
                    }
                    _ => {}
                }
            }
        }
        doubt.map_or_else(|| RuleMatch::No("no path matches".to_owned()), RuleMatch::Maybe)
    }

    /// The directories that a relative path may start from, each as the changes of directory since the call; and whether one of
    /// them cannot be determined.
    fn base_dirs(&self, place: &Place) -> (Vec<Vec<String>>, bool) {
        let mut starts: Vec<Vec<String>> = vec![Vec::new()];
        let mut is_lost = place.is_lost;
        match (&self.call.paths, self.is_shell) {
            // The tool may go to a directory that its input names, or not.
            (Paths::Known(told), true) if told.len() <= 6 => {
                for directory in told {
                    let more: Vec<Vec<String>> =
                        starts.iter().map(|way| way.iter().chain([directory]).cloned().collect()).collect();
                    starts.extend(more);
                }
            }
            (_, true) => is_lost = true,
            (_, false) => {}
        }
        let ways = starts.iter().flat_map(|start| {
            place.ways.iter().map(move |way| match way.first() {
                Some(first) if first.starts_with('/') => way.clone(),
                _ => start.iter().chain(way).cloned().collect(),
            })
        });
        (ways.collect(), is_lost)
    }

    fn match_allow(&self, rule: &Rule, allowing: &[&Rule]) -> RuleMatch {
        let no = |why: &str| RuleMatch::No(why.to_owned());
        if !rule.inspects_input() {
            return RuleMatch::Yes("the rule matches every call of the tool".to_owned());
        }
        if !rule.command.is_empty() {
            let first = self.analyses.first().and_then(|scan| scan.commands.first());
            if !first.is_some_and(|seen| matching::match_allow(rule, seen)) {
                return no("the first command does not match");
            }
            let others = || allowing.iter().filter(|rule| !rule.command.is_empty());
            for scan in &self.analyses {
                if scan.assigns {
                    return no("it also sets a variable");
                }
                if !scan.writes.iter().all(|write| matches!(write.path.text(), Some("/dev/null"))) {
                    return no("it also writes a file");
                }
                let is_meant = |seen: &FoundCommand| others().any(|rule| matching::match_allow(rule, seen));
                if scan.commands.is_empty() || !scan.commands.iter().filter(|seen| seen.is_sure).all(is_meant) {
                    return no("it also runs another command");
                }
            }
            return match self.unresolved.first() {
                Some(why) => RuleMatch::No(why.clone()),
                None => RuleMatch::Yes("every command matches".to_owned()),
            };
        }
        let told = match &self.call.paths {
            Paths::Known(told) if !told.is_empty() && !self.is_shell => told,
            _ => return no("the call names no path"),
        };
        let is_meant = |path: &String| match (self.locate)(path, &[]) {
            PathLocation::Inside(inside) => rule.paths.iter().any(|glob| globs::matches(glob, &inside)),
            _ => false,
        };
        if told.iter().all(is_meant) { RuleMatch::Yes("every path matches".to_owned()) } else { no("another path") }
    }
}
