//! Texts that nobody would write: no panic, no way through.

use fairway_core::guard::MAX_STEPS;
use proptest::prelude::*;
use proptest::sample::select;

use super::{cases, judged, no_force_push};

const CORPUS: &str = include_str!("../../data/guard/fuzz/corpus.txt");

#[test]
fn corpus_is_decided_without_a_panic() {
    let rules = no_force_push();
    let cases = cases(CORPUS);
    assert!(cases.len() >= 40, "only {} texts", cases.len());
    for text in cases {
        let (rules, text) = (rules.clone(), text.clone());
        let shown: String = text.chars().take(80).collect();
        let judged =
            fairway_core::os::time_limit::run_on_big_stack(256 << 20, std::time::Duration::from_secs(20), move || {
                let _ = judged(&rules, &text);
                // Whatever it is, a forced push behind it is one, or the text is none.
                !judged(&rules, &format!("{text}\n\ngit push -f")).allowed
            });
        assert_eq!(judged, Some(true), "{shown}");
    }
}

#[test]
fn deep_and_long_texts_are_denied_and_break_nothing() {
    let rules = no_force_push();
    for (open, close) in [
        ("(", ")"),
        ("{ ", "; }"),
        ("$(", ")"),
        ("\"$(", ")\""),
        ("`", "`"),
        ("${x:-", "}"),
        ("if true; then ", "; fi"),
        ("while true; do ", "; done"),
        ("! ", ""),
        ("[[ ! ", " ]]"),
        ("time ", ""),
        ("case x in x) ", " ;; esac"),
        ("f() { ", "; }"),
        ("$((", "))"),
        ("<(", ")"),
        ("sh -c '", "'"),
        ("eval ", ""),
        ("sudo ", ""),
        ("a=(", ")"),
        ("{ a; ", "; }"),
        ("x && ", ""),
        ("x | ", ""),
        ("cat <<E\n", "\nE\n"),
    ] {
        for depth in [10, 100, 1_000] {
            let text = format!("{}git push -f{}", open.repeat(depth), close.repeat(depth));
            let rules = rules.clone();
            let judged = fairway_core::os::time_limit::run_on_big_stack(
                256 << 20,
                std::time::Duration::from_secs(30),
                move || judged(&rules, &text),
            );
            // No answer in time is a no as well; a crash of the process would not be.
            if let Some(judged) = judged {
                // The first end closes the outermost document: what stands before it is its text.
                assert!(!judged.allowed || open.starts_with("cat"), "{open} {depth}: {:?}", judged.commands);
            }
        }
    }
}

/// A word that a shell reads as the same letters.
fn quoted(word: &'static str) -> impl Strategy<Value = String> {
    let letters = word.len();
    prop_oneof![
        Just(word.to_owned()),
        Just(format!("'{word}'")),
        Just(format!("\"{word}\"")),
        Just(format!("\\{word}")),
        Just(format!("$'{word}'")),
        (0..letters).prop_map(move |at| format!("{}''{}", &word[..at], &word[at..])),
        (0..letters).prop_map(move |at| format!("{}\"\"{}", &word[..at], &word[at..])),
        (0..letters).prop_map(move |at| format!("{}'{}'", &word[..at], &word[at..])),
        (0..letters).prop_map(move |at| format!("\"{}\"{}", &word[..at], &word[at..])),
        (0..letters).prop_map(move |at| format!("{}\\\n{}", &word[..at], &word[at..])),
        (0..letters).prop_map(move |at| {
            let letter = word.as_bytes()[at];
            format!("{}$'\\x{letter:02x}'{}", &word[..at], &word[at + 1..])
        }),
        (0..letters).prop_map(move |at| {
            let letter = word.as_bytes()[at];
            format!("{}$'\\{letter:03o}'{}", &word[..at], &word[at + 1..])
        }),
    ]
}

fn forced() -> impl Strategy<Value = String> {
    let blank = || select(vec![" ", "  ", "\t", " \\\n ", " 2>/dev/null "]);
    let flag =
        prop_oneof![quoted("-f"), quoted("--force"), quoted("--force-with-lease"), quoted("-uf"), quoted("+main")];
    let more = select(vec!["", " origin", " origin main", " -u origin main", " --tags"]);
    let before = select(vec!["", " -C .", " --no-pager", " -c a.b=c"]);
    (quoted("git"), before, blank(), quoted("push"), more, blank(), flag)
        .prop_map(|(git, before, one, push, more, two, flag)| format!("{git}{before}{one}{push}{more}{two}{flag}"))
}

/// A text around a command that runs it.
fn around(text: &str, way: usize) -> String {
    let quoted = text.replace('\'', "'\\''");
    match way {
        0 => format!("true; {text}"),
        1 => format!("({text})"),
        2 => format!("{text} &"),
        3 => format!("if true; then {text}; fi"),
        4 => format!("sh -c '{quoted}'"),
        5 => format!("echo \"$({text})\""),
        6 => format!("false || {text}"),
        7 => format!("for i in 1; do {text}; done"),
        8 => format!("f() {{ {text}; }}; f"),
        9 => format!("env A=b {text}"),
        10 => format!("sudo -u me {text}"),
        11 => format!("ls | {text}"),
        12 => format!("eval '{quoted}'"),
        13 => format!("bash <<'END'\n{text}\nEND"),
        14 => format!("cat <<END\n$({text})\nEND"),
        15 => format!("timeout 5 {text}"),
        16 => format!("case x in x) {text} ;; esac"),
        17 => format!("diff <({text}) x"),
        18 => format!("x=$({text})"),
        19 => format!("trap '{quoted}' EXIT"),
        20 => format!("echo ${{x:-$({text})}}"),
        21 => format!("# comment\n{text}"),
        22 => format!("ls | xargs {text}"),
        23 => format!("{text} | cat"),
        24 => format!("! {text}"),
        _ => format!("{{ {text}; }} > out"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn any_text_is_judged_without_a_panic_and_in_few_steps(text in "(?s).{0,120}", also in "[-gitpush$(){}\\[\\]'\"`\\\\;|&<> \n!*?~#=+@%^:,./0-9A-Z]{0,120}") {
        let rules = no_force_push();
        for text in [text, also] {
            let steps = judged(&rules, &text).steps;
            prop_assert!(steps < MAX_STEPS / 4 || text.matches('(').count() >= 8, "{steps} steps: {text:?}");
        }
    }

    #[test]
    fn denied_commands_stay_denied_in_any_context(
        text in forced(), first in 0_usize..26, second in 0_usize..26,
    ) {
        let rules = no_force_push();
        prop_assert!(!judged(&rules, &text).allowed, "{text}");
        let once = around(&text, first);
        prop_assert!(!judged(&rules, &once).allowed, "{once}");
        let twice = around(&once, second);
        prop_assert!(!judged(&rules, &twice).allowed, "{twice}");
    }
}
