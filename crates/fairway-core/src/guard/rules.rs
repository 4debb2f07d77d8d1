//! Guard rules as data: roles, tools, commands and paths, each with its action.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::tool_names;
use crate::domain::Role;
use crate::domain::string_enum::string_enum;

string_enum! {
    /// The decision for a call that no rule matches.
    #[derive(Default)]
    DefaultAction { #[default] Allow => "allow", Deny => "deny" }
}

string_enum! {
    /// The decision of a rule for a call that it matches: denying overrides every rule that allows.
    Action { Deny => "deny", Allow => "allow" }
}

string_enum! {
    /// The effect of a command, however it is spelled: a push that overwrites or deletes what the remote has.
    Effect { ForcePush => "force-push" }
}

impl Effect {
    /// The words of a command, and the flags any of which gives that command this effect. Shell texts are judged by them before
    /// they run.
    pub const fn command(self) -> (&'static [&'static str], &'static [&'static str]) {
        match self {
            Self::ForcePush => (
                &["git", "push"],
                &["--force", "-f", "--force-with-lease", "--delete", "-d", "--prune", "--no-verify", ":*"],
            ),
        }
    }
}

/// The effect of a push on a ref of the remote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PushKind {
    /// It makes the ref, or adds commits to it.
    Update,
    /// It takes commits away, or moves a tag.
    Overwrite,
    /// It deletes the ref.
    Delete,
}

impl PushKind {
    pub const ALL: [Self; 3] = [Self::Update, Self::Overwrite, Self::Delete];

    /// The flags of a command rule that mean such a push.
    const fn flags(self) -> &'static [&'static str] {
        match self {
            Self::Update => &[],
            Self::Overwrite => &["--force", "-f", "--force-with-lease", "--force-if-includes", "--mirror", "+*"],
            Self::Delete => &["--delete", "-d", "--prune", "--mirror", ":*"],
        }
    }
}

/// The tools of a role. Names are exact, or have a `*` for any run of characters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RoleEntry {
    /// Only these tools; `None`: all.
    pub allow: Option<Vec<String>>,
    /// None of these.
    pub deny: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Its name, as in the log.
    pub name: String,
    /// The tools that it applies to; empty: all.
    pub tools: Vec<String>,
    /// The roles that it applies to; empty: all.
    pub roles: Vec<String>,
    /// The leading arguments of the commands that it matches; empty: commands are not inspected.
    pub command: Vec<String>,
    /// One of these flags must be present; empty: no flag is required.
    pub flags: Vec<String>,
    /// The effect that it denies; the command and the flags are then those of its text.
    pub effect: Option<Effect>,
    /// Whether it applies only to paths outside the worktree.
    pub outside: bool,
    /// Globs of the paths that it matches; empty: paths are not inspected.
    pub paths: Vec<String>,
    /// Its decision.
    pub action: Action,
    /// The reason that a denied agent gets.
    pub reason: Option<String>,
}

/// All rules.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rules {
    /// The decision for a call that no rule matches.
    pub default_action: DefaultAction,
    /// By role.
    pub roles: Vec<(String, RoleEntry)>,
    /// In the order of the file.
    pub rules: Vec<Rule>,
}

impl Rule {
    pub fn has_path_condition(&self) -> bool {
        self.outside || !self.paths.is_empty()
    }

    /// Whether it denies every push of this kind. Rules for some paths or remotes only are not among them: those judge the text
    /// of a command.
    fn denies_push(&self, kind: PushKind) -> bool {
        if self.effect == Some(Effect::ForcePush) {
            return kind != PushKind::Update;
        }
        let is_push =
            matches!(self.command.iter().map(String::as_str).collect::<Vec<_>>()[..], ["git"] | ["git", "push"]);
        let says = |flag: &String| kind.flags().contains(&flag.as_str());
        self.action == Action::Deny
            && is_push
            && !self.has_path_condition()
            && (self.flags.is_empty() || self.flags.iter().any(says))
    }

    /// Whether the rule inspects the input of a tool call, not only the name of the tool.
    pub fn inspects_input(&self) -> bool {
        !self.command.is_empty() || self.has_path_condition()
    }

    /// Whether the rule applies when an agent in this role calls a tool with these names. For a deny rule, names that other
    /// providers give to the tool count too.
    pub fn applies_to(&self, names: &[String], role: &Role) -> bool {
        let tools = self.tools.is_empty()
            || match self.action {
                Action::Deny => tool_names::matches_alias(&self.tools, names),
                Action::Allow => tool_names::matches_exact(&self.tools, names),
            };
        tools && (self.roles.is_empty() || self.roles.iter().any(|name| name == role.as_str()))
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.action == Action::Deny { "deny" } else { "allow" })?;
        let none = Vec::new();
        let lists = [
            ("tools", &self.tools),
            ("roles", &self.roles),
            ("command", if self.effect.is_none() { &self.command } else { &none }),
            ("flags", if self.effect.is_none() { &self.flags } else { &none }),
            ("paths", &self.paths),
        ];
        for (name, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
            write!(f, " {name} [{}]", list.join(", "))?;
        }
        if let Some(effect) = self.effect {
            write!(f, " effect {}", effect.as_str())?;
        }
        if self.outside { f.write_str(" outside the worktree") } else { Ok(()) }
    }
}

impl Rules {
    /// The first rule that denies an agent in this role every push of this kind. That is a rule for `git` or `git push` without
    /// flags or with a flag for such a push, or one with the effect `force-push` when the push is more than an update.
    pub fn denied_push(&self, kind: PushKind, role: &Role) -> Option<&Rule> {
        let has_role = |rule: &Rule| rule.roles.is_empty() || rule.roles.iter().any(|name| name == role.as_str());
        self.rules.iter().find(|rule| rule.denies_push(kind) && has_role(rule))
    }

    /// Why the entry for this role forbids a tool with these names; `None` when it does not, and when the role has no entry.
    pub fn role_denial_reason(&self, names: &[String], role: &Role) -> Option<String> {
        let (_, entry) = self.roles.iter().find(|(name, _)| name == role.as_str())?;
        let tool = names.first().map_or("", String::as_str);
        if tool_names::matches_alias(&entry.deny, names) {
            return Some(format!("the role {role} may not use {tool}"));
        }
        match &entry.allow {
            Some(allow) if !tool_names::matches_exact(allow, names) => {
                let may = if allow.is_empty() { "nothing".to_owned() } else { allow.join(", ") };
                Some(format!("the role {role} may use only {may}"))
            }
            _ => None,
        }
    }
}
