//! From rules and a call to a decision.

use super::{Action, Rules, Usual, tools};
use crate::domain::Role;

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

/// Judges a call. `place` tells where a path leads, from the folders that it may be relative to; none: from where the call
/// is made.
#[must_use]
pub fn judge(rules: &Rules, call: &Call, _place: &dyn Fn(&str, &[String]) -> Place) -> Judgement {
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
    let (mut denied, mut granted) = (None, None);
    for rule in rules.rules.iter().filter(|rule| rule.speaks_of(&call.names, &call.role)) {
        let (matched, why) = match (rule.looks_inside(), rule.action) {
            (false, _) => (true, "it means every call of the tool".to_owned()),
            (true, Action::Deny) => (true, "what the call does cannot be told".to_owned()),
            (true, Action::Allow) => (false, "what the call does cannot be told".to_owned()),
        };
        if matched {
            let first = if rule.action == Action::Deny { &mut denied } else { &mut granted };
            first.get_or_insert_with(|| (rule.name.clone(), rule.reason.clone(), why.clone()));
        }
        judgement.looks.push(Look { rule: rule.name.clone(), matched, why });
    }
    let _ = tools::is_shell(&call.names);
    match (denied, granted) {
        (Some((name, reason, why)), _) => {
            judgement.reason = reason.unwrap_or(why);
            judgement.rule = Some(name);
        }
        (None, Some((name, reason, why))) => {
            (judgement.allowed, judgement.granted) = (true, true);
            judgement.reason = reason.unwrap_or(why);
            judgement.rule = Some(name);
        }
        (None, None) => {
            judgement.allowed = rules.usual == Usual::Allow;
            judgement.reason = if judgement.allowed { "no rule denies it" } else { "no rule allows it" }.to_owned();
        }
    }
    judgement
}
