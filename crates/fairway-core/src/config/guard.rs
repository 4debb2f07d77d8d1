//! The section `guard`: what agents' tool calls may do. Rules are checked across their keys, and messages name the rule, so they are
//! read in two steps.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::section::{Form, Wrong, section};
use super::values::{impl_word, reader, unknown_value};
use crate::domain::Role;
use crate::domain::rules::globs;
use crate::guard::{Action, DefaultAction, Effect, RoleEntry, Rule, Rules};

impl_word!(Action, DefaultAction, Effect);

section! {
    /// The section as it is written.
    #[derive(Clone)]
    pub(super) struct RawSection {
        /// The decision for a tool call that no rule matches: allow or deny.
        #[sample("allow")]
        default: Option<DefaultAction>,
    }
    parts {
        roles: BTreeMap<String, RawRole>,
        rules: Vec<RawRule>,
    }
}

section! {
    #[derive(Clone)]
    pub(super) struct RawRole {
        /// A role with an entry may use only these tools.
        #[sample(["Read", "Grep", "mcp__docs__*"])]
        allow: Option<Vec<String>>,
        /// A role with an entry may not use these tools.
        #[sample(["WebFetch"])]
        deny: Vec<String>,
    }
}

section! {
    #[derive(Clone)]
    pub(super) struct RawRule {
        /// Rule name, shown in the log and in denials.
        #[sample("no-force-push")]
        name: Option<String> = required,
        /// The tools that the rule applies to; every tool when it is not set.
        #[sample(["Bash"])]
        tools: Vec<String>,
        /// The roles that the rule applies to; every role when it is not set.
        #[sample(["backend"])]
        roles: Vec<String>,
        /// Commands that begin with these arguments, also inside wrappers and other shells …
        #[sample(["git", "push"])]
        command: Option<Vec<String>>,
        /// … and have one of these.
        #[sample(["--force", "-f"])]
        flags: Option<Vec<String>>,
        /// A push that overwrites or deletes, however it is spelled; a launched session asks before each push.
        #[sample("force-push")]
        effect: Option<Effect>,
        /// Paths outside the session's worktree.
        #[sample("worktree")]
        outside: Option<bool> as Option<Outside>,
        /// Paths of this form, relative to the worktree.
        #[sample([".github/**"])]
        paths: Option<Vec<String>>,
        /// deny or allow; deny beats allow.
        #[sample("deny")]
        action: Option<Action> = required,
        /// The reason that the agent gets.
        #[sample("force push is for people")]
        reason: Option<String>,
    }
}

reader! {
    Outside(String) -> bool, Form::Words(|| vec!["worktree"]);
    |word: &String| if word == "worktree" { Ok(true) } else { Err(unknown_value(word, &["worktree"])) }
}
reader!(pub(super) GuardRules(RawSection) -> Arc<Rules>; |raw: &RawSection| raw.clone().into_rules().map(Arc::new));

impl RawSection {
    fn into_rules(self) -> Result<Rules, Wrong> {
        let mut roles = Vec::new();
        for (name, raw) in self.roles {
            let key = format!("roles.{name}");
            Role::parse(&name).map_err(|why| Wrong::at(&*key, why))?;
            if raw.allow.is_none() && raw.deny.is_empty() {
                return Err(Wrong::at(key, "needs allow or deny"));
            }
            check_tool_names(&format!("{key}.allow"), raw.allow.as_deref().unwrap_or_default())?;
            check_tool_names(&format!("{key}.deny"), &raw.deny)?;
            roles.push((name, RoleEntry { allow: raw.allow, deny: raw.deny }));
        }
        let mut rules: Vec<Rule> = Vec::new();
        for (place, raw) in self.rules.into_iter().enumerate() {
            let rule = raw.into_rule(place + 1)?;
            if rules.iter().any(|other| other.name == rule.name) {
                return Err(Wrong::at("rules[].name", format!("two rules have the name '{}'", rule.name)));
            }
            rules.push(rule);
        }
        Ok(Rules { default_action: self.default.unwrap_or(DefaultAction::Allow), roles, rules })
    }
}

impl RawRule {
    fn into_rule(self, place: usize) -> Result<Rule, Wrong> {
        let wrong = |key: &str, why: String| Wrong::at(format!("rules[].{key}"), why);
        let name = match self.name {
            None => return Err(wrong("name", format!("rule {place} has none"))),
            Some(name) if name.trim().is_empty() || name.len() > 128 || name.chars().any(char::is_control) => {
                return Err(wrong("name", format!("of rule {place} must have 1 to 128 bytes in one line")));
            }
            Some(name) => name,
        };
        let of = |what: &str| format!("of the rule '{name}' {what}");
        let action = self.action.ok_or_else(|| wrong("action", of("is missing: deny or allow")))?;
        let (effect, outside) = (self.effect, self.outside.unwrap_or_default());
        check_tool_names("rules[].tools", &self.tools)?;
        for role in &self.roles {
            Role::parse(role).map_err(|why| wrong("roles", why.to_string()))?;
        }
        // An empty list says nothing, and a rule that says nothing about commands would mean every call.
        let listed = |key: &str, list: Option<Vec<String>>| match list {
            Some(list) if list.is_empty() => Err(wrong(key, of("is empty and matches nothing"))),
            list => Ok(list.unwrap_or_default()),
        };
        let command = listed("command", self.command)?;
        let flags = listed("flags", self.flags)?;
        let paths = listed("paths", self.paths)?;
        if effect.is_some() {
            if action == Action::Allow {
                return Err(wrong("effect", of("can only deny")));
            }
            if !(command.is_empty() && flags.is_empty() && paths.is_empty()) || outside {
                return Err(wrong("effect", of("cannot stand beside command, flags, paths or outside")));
            }
        }
        let (command, flags) = match effect {
            None => (command, flags),
            Some(effect) => {
                let listed = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
                let (command, flags) = effect.command();
                (listed(command), listed(flags))
            }
        };
        let is_word = |word: &&String| word.is_empty() || word.chars().any(|c| c.is_whitespace() || c.is_control());
        if let Some(word) = command.iter().chain(&flags).find(is_word) {
            return Err(wrong("command", of(&format!("has the invalid argument '{}'", word.escape_debug()))));
        }
        if let Some(word) = command.iter().find(|word| word.starts_with('-')) {
            return Err(wrong("command", of(&format!("has the flag '{word}'; flags belong in `flags`"))));
        }
        if command.first().is_some_and(|word| word.ends_with('/')) {
            return Err(wrong("command", of("names a directory")));
        }
        if !flags.is_empty() && command.is_empty() {
            return Err(wrong("flags", of("need a `command`")));
        }
        for path in &paths {
            globs::check(path).map_err(|why| wrong("paths", why.to_string()))?;
        }
        if outside && action == Action::Allow {
            return Err(wrong("outside", of("can only deny")));
        }
        if action == Action::Allow && !command.is_empty() && !paths.is_empty() {
            return Err(wrong("paths", of("cannot allow a command by its paths")));
        }
        if outside && !paths.is_empty() {
            return Err(wrong("paths", of("cannot match outside the worktree: they are relative to it")));
        }
        if self.tools.is_empty() && command.is_empty() && !outside && paths.is_empty() {
            return Err(wrong("tools", of("needs one of tools, command, effect, paths or outside")));
        }
        Ok(Rule {
            tools: self.tools,
            roles: self.roles,
            command,
            flags,
            effect,
            outside,
            paths,
            action,
            reason: self.reason.filter(|reason| !reason.trim().is_empty()),
            name,
        })
    }
}

fn check_tool_names(key: &str, names: &[String]) -> Result<(), Wrong> {
    match names.iter().find(|name| name.is_empty() || name.chars().any(|c| c.is_whitespace() || c.is_control())) {
        Some(name) => Err(Wrong::at(key, format!("'{}' is not a valid tool name", name.escape_debug()))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::section::Reader as _;

    fn read(text: &str) -> Result<Arc<Rules>, Wrong> {
        GuardRules::read(toml::from_str(text).unwrap())
    }

    #[test]
    fn section_of_the_guide_is_read() {
        let rules = read(
            "default = \"allow\"\n[roles.witness]\nallow = [\"Read\", \"Grep\"]\n[[rules]]\nname = \"no-force-push\"\n\
             tools = [\"Bash\"]\ncommand = [\"git\", \"push\"]\nflags = [\"--force\", \"-f\"]\naction = \"deny\"\n\
             [[rules]]\nname = \"stay\"\ntools = [\"Write\"]\noutside = \"worktree\"\naction = \"deny\"\n",
        )
        .unwrap();
        assert_eq!((rules.roles.len(), rules.rules.len(), rules.default_action), (1, 2, DefaultAction::Allow));
    }

    #[test]
    fn rule_that_could_never_match_is_an_error() {
        for (text, key) in [
            ("default = \"maybe\"", "default"),
            ("[roles.a]", "roles.a"),
            ("[[rules]]\naction = \"deny\"\ntools = [\"x\"]", "rules[].name"),
            ("[[rules]]\nname = \"a\"\ntools = [\"x\"]", "rules[].action"),
            ("[[rules]]\nname = \"a\"\naction = \"deny\"", "rules[].tools"),
            ("[[rules]]\nname = \"a\"\naction = \"deny\"\nroles = [\"qa\"]", "rules[].tools"),
            ("[[rules]]\nname = \"a\"\naction = \"deny\"\ncommand = []", "rules[].command"),
            ("[[rules]]\nname = \"a\"\naction = \"deny\"\ncommand = [\"git push\"]", "rules[].command"),
            ("[[rules]]\nname = \"a\"\naction = \"deny\"\ntools = [\"x\"]\nflags = [\"-f\"]", "rules[].flags"),
            ("[[rules]]\nname = \"a\"\naction = \"deny\"\noutside = \"elsewhere\"", "rules[].outside"),
            ("[[rules]]\nname = \"a\"\naction = \"deny\"\neffect = \"push\"", "rules[].effect"),
            ("[[rules]]\nname = \"a\"\naction = \"allow\"\neffect = \"force-push\"", "rules[].effect"),
            (
                "[[rules]]\nname = \"a\"\naction = \"deny\"\neffect = \"force-push\"\ncommand = [\"git\"]",
                "rules[].effect",
            ),
            ("[[rules]]\nname = \"a\"\naction = \"allow\"\noutside = \"worktree\"", "rules[].outside"),
            ("[[rules]]\nname = \"a\"\naction = \"deny\"\npaths = [\"/etc\"]", "rules[].paths"),
        ] {
            assert_eq!(read(text).unwrap_err().key, key, "{text}");
        }
    }
}
