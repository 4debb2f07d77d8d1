//! Ways round a rule, and lines of every day.

use super::{cases, judged, no_force_push};

const BYPASSES: &str = include_str!("../../data/guard/bypasses.txt");
const HARMLESS: &str = include_str!("../../data/guard/harmless.txt");

#[test]
fn known_bypasses_are_denied() {
    let (rules, cases) = (no_force_push(), cases(BYPASSES));
    assert!(cases.len() >= 300, "only {} ways", cases.len());
    let through: Vec<&String> = cases.iter().filter(|text| judged(&rules, text).allowed).collect();
    assert!(through.is_empty(), "{} of {} got through: {through:#?}", through.len(), cases.len());
}

#[test]
fn everyday_commands_are_allowed() {
    let (rules, cases) = (no_force_push(), cases(HARMLESS));
    assert!(cases.len() >= 100, "only {} lines", cases.len());
    let stopped: Vec<String> = cases
        .iter()
        .map(|text| (text, judged(&rules, text)))
        .filter(|(_, judgement)| !judgement.allowed)
        .map(|(text, judgement)| format!("{text}: {}", judgement.reason))
        .collect();
    assert!(stopped.len() * 100 <= cases.len() * 5, "{} of {} were stopped: {stopped:#?}", stopped.len(), cases.len());
}

#[test]
fn denial_names_the_rule_and_the_reason() {
    let rules = no_force_push();
    let plain = judged(&rules, "git push -f");
    assert_eq!((plain.rule.as_deref(), plain.reason.as_str()), (Some("no-force-push"), "force push is for people"));
    let doubt = judged(&rules, "git push $X");
    assert!(
        doubt.reason.contains("cannot determine") && doubt.reason.ends_with("write the command out in full"),
        "{doubt:?}"
    );
    // Without a rule that speaks of commands nobody parses anything.
    let silent = fairway_core::guard::Rules::default();
    assert!(judged(&silent, "git push -f '").allowed);
}
