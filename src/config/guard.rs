//! The section `guard`: what agents' tool calls may do.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Value;

use super::values::unknown_value;
use crate::{
    domain::{Role, rules::globs},
    guard::{Action, DefaultAction, Effect, RoleEntry, Rule, Rules},
};

/// The section as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RawSection {
    default: Option<String>,
    roles: BTreeMap<String, RawRole>,
    rules: Vec<RawRule>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RawRole {
    allow: Option<Vec<String>>,
    deny: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RawRule {
    name: Option<String>,
    tools: Vec<String>,
    roles: Vec<String>,
    command: Option<Vec<String>>,
    flags: Option<Vec<String>>,
    effect: Option<String>,
    outside: Option<String>,
    paths: Option<Vec<String>>,
    action: Option<String>,
    reason: Option<String>,
}

type InvalidKey = (String, String);

/// The rules of the section. They are checked across their keys, and messages name the rule, so they are read in two steps.
///
/// # Errors
/// The key, and why its value is invalid.
pub(super) fn parse(section: Value) -> Result<Rules, InvalidKey> {
    let raw: RawSection =
        section.try_into().map_err(|error: toml::de::Error| ("guard".into(), error.message().into()))?;
    raw.into_rules()
}

impl RawSection {
    fn into_rules(self) -> Result<Rules, InvalidKey> {
        let usual = match self.default.as_deref() {
            None | Some("allow") => DefaultAction::Allow,
            Some("deny") => DefaultAction::Deny,
            Some(word) => return Err(("guard.default".into(), unknown_value(word, &["allow", "deny"]))),
        };
        let mut roles = Vec::new();
        for (name, raw) in self.roles {
            let key = format!("guard.roles.{name}");
            Role::parse(&name).map_err(|why| (key.clone(), why.to_string()))?;
            if raw.allow.is_none() && raw.deny.is_empty() {
                return Err((key, "needs allow or deny".into()));
            }
            check_tool_names(&format!("{key}.allow"), raw.allow.as_deref().unwrap_or_default())?;
            check_tool_names(&format!("{key}.deny"), &raw.deny)?;
            roles.push((name, RoleEntry { allow: raw.allow, deny: raw.deny }));
        }
        let mut rules: Vec<Rule> = Vec::new();
        for (place, raw) in self.rules.into_iter().enumerate() {
            let rule = raw.into_rule(place + 1)?;
            if rules.iter().any(|other| other.name == rule.name) {
                return Err(("guard.rules[].name".into(), format!("two rules have the name '{}'", rule.name)));
            }
            rules.push(rule);
        }
        Ok(Rules { default_action: usual, roles, rules })
    }
}

impl RawRule {
    fn into_rule(self, place: usize) -> Result<Rule, InvalidKey> {
        let wrong = |key: &str, why: String| (format!("guard.rules[].{key}"), why);
        let name = match self.name {
            None => return Err(wrong("name", format!("rule {place} has none"))),
            Some(name) if name.trim().is_empty() || name.len() > 128 || name.chars().any(char::is_control) => {
                return Err(wrong("name", format!("of rule {place} must have 1 to 128 bytes in one line")));
            }
            Some(name) => name,
        };
        let of = |what: &str| format!("of the rule '{name}' {what}");
        let action = match self.action.as_deref() {
            None => return Err(wrong("action", of("is missing: deny or allow"))),
            Some("deny") => Action::Deny,
            Some("allow") => Action::Allow,
            Some(word) => return Err(wrong("action", unknown_value(word, &["deny", "allow"]))),
        };
        let outside = match self.outside.as_deref() {
            None => false,
            Some("worktree") => true,
            Some(word) => return Err(wrong("outside", unknown_value(word, &["worktree"]))),
        };
        let effect = match self.effect.as_deref() {
            None => None,
            Some("force-push") => Some(Effect::ForcePush),
            Some(word) => return Err(wrong("effect", unknown_value(word, &["force-push"]))),
        };
        check_tool_names("guard.rules[].tools", &self.tools)?;
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

fn check_tool_names(key: &str, names: &[String]) -> Result<(), InvalidKey> {
    match names.iter().find(|name| name.is_empty() || name.chars().any(|c| c.is_whitespace() || c.is_control())) {
        Some(name) => Err((key.to_owned(), format!("'{}' is not a valid tool name", name.escape_debug()))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Rules, InvalidKey> {
        parse(toml::from_str(text).unwrap())
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
            ("default = \"maybe\"", "guard.default"),
            ("[roles.a]", "guard.roles.a"),
            ("[[rules]]\naction = \"deny\"\ntools = [\"x\"]", "guard.rules[].name"),
            ("[[rules]]\nname = \"a\"\ntools = [\"x\"]", "guard.rules[].action"),
            ("[[rules]]\nname = \"a\"\naction = \"deny\"", "guard.rules[].tools"),
            ("[[rules]]\nname = \"a\"\naction = \"deny\"\nroles = [\"qa\"]", "guard.rules[].tools"),
            ("[[rules]]\nname = \"a\"\naction = \"deny\"\ncommand = []", "guard.rules[].command"),
            ("[[rules]]\nname = \"a\"\naction = \"deny\"\ncommand = [\"git push\"]", "guard.rules[].command"),
            ("[[rules]]\nname = \"a\"\naction = \"deny\"\ntools = [\"x\"]\nflags = [\"-f\"]", "guard.rules[].flags"),
            ("[[rules]]\nname = \"a\"\naction = \"deny\"\noutside = \"elsewhere\"", "guard.rules[].outside"),
            ("[[rules]]\nname = \"a\"\naction = \"deny\"\neffect = \"push\"", "guard.rules[].effect"),
            ("[[rules]]\nname = \"a\"\naction = \"allow\"\neffect = \"force-push\"", "guard.rules[].effect"),
            (
                "[[rules]]\nname = \"a\"\naction = \"deny\"\neffect = \"force-push\"\ncommand = [\"git\"]",
                "guard.rules[].effect",
            ),
            ("[[rules]]\nname = \"a\"\naction = \"allow\"\noutside = \"worktree\"", "guard.rules[].outside"),
            ("[[rules]]\nname = \"a\"\naction = \"deny\"\npaths = [\"/etc\"]", "guard.rules[].paths"),
        ] {
            assert_eq!(read(text).unwrap_err().0, key, "{text}");
        }
    }
}
