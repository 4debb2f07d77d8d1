//! Rules and calls that are built without a file. The benchmarks include this file.

use fairway_core::domain::Role;
use fairway_core::guard::{
    Action, DefaultAction, Evaluation, PathLocation, Paths, Rule, Rules, ShellInput, ToolCallFacts, evaluate,
};

/// The rule of the guide against forced pushes, alone; another call is allowed.
pub fn no_force_push() -> Rules {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let rule = Rule {
        name: "no-force-push".into(),
        tools: words(&["Bash"]),
        roles: Vec::new(),
        command: words(&["git", "push"]),
        flags: words(&["--force", "-f", "--force-with-lease"]),
        effect: None,
        outside: false,
        paths: Vec::new(),
        action: Action::Deny,
        reason: Some("force push is for people".into()),
    };
    Rules { default_action: DefaultAction::Allow, roles: Vec::new(), rules: vec![rule] }
}

/// The decision of these rules on shell text.
pub fn judged(rules: &Rules, text: &str) -> Evaluation {
    let call = ToolCallFacts {
        names: vec!["Bash".into()],
        role: Role::parse("backend").unwrap(),
        shell_inputs: vec![ShellInput::Text(text.to_owned())],
        paths: Paths::Known(Vec::new()),
        is_own_verb: false,
    };
    evaluate(rules, &call, &|_, _| PathLocation::Inside(String::new()))
}
