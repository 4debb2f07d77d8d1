//! The work that a text costs, in counted steps: nestings of every opening, alone and in pairs, from a line to the largest text.

use fairway_core::guard::MAX_STEPS;
use fairway_core::os::time_limit;

use super::{judged, no_force_push};

/// What opens something, what closes it, and what stands within.
const OPENINGS: &[(&str, &str)] = &[
    ("find . -exec ", ""),
    ("find . -exec ", " \\;"),
    ("find . -name x -o -exec ", " {} +"),
    ("fd -x ", ""),
    ("coproc ", ""),
    ("coproc A { ", "; }"),
    ("env ", ""),
    ("env A=b ", ""),
    ("env -S '", "'"),
    ("sudo ", ""),
    ("sudo -u a ", ""),
    ("nice ", ""),
    ("nice -n 5 ", ""),
    ("timeout 5 ", ""),
    ("nohup ", ""),
    ("nohup x ", ""),
    ("stdbuf -oL ", ""),
    ("xargs ", ""),
    ("xargs -I{} ", ""),
    ("ls | xargs ", ""),
    ("eval ", ""),
    ("eval '", "'"),
    ("eval \"", "\""),
    ("sh -c ", ""),
    ("sh -c '", "'"),
    ("sh -c \"", "\""),
    ("nohup sh -c '", "'"),
    ("$(", ")"),
    ("$( ", " )"),
    ("\"$(", ")\""),
    ("x=$(", ")"),
    ("`", "`"),
    ("<(", ")"),
    ("cat <(", ")"),
    ("> >(", ")"),
    ("${x:-", "}"),
    ("\"${x:-", "}\""),
    ("${x/", "/}"),
    ("$((", "))"),
    ("$[", "]"),
    ("((", "))"),
    ("(( ", " ))"),
    ("(", ")"),
    ("( ", " )"),
    ("(a; ", "; b)"),
    ("{ ", "; }"),
    ("{ a; ", "; }"),
    ("{a,", "}"),
    ("[", "]"),
    ("[[ ", " ]]"),
    ("[[ ! ", " ]]"),
    ("[[ ( ", " ) ]]"),
    ("[[ a && ", ""),
    ("case x in x) ", ";; esac"),
    ("case x in x) ", " esac"),
    ("case x in (x) ", " esac"),
    ("if ", "; then a; fi"),
    ("if a; then ", "; fi"),
    ("if a; then b; elif ", ""),
    ("if a; then b; else ", "; fi"),
    ("while ", "; do a; done"),
    ("while a; do ", "; done"),
    ("until a; do ", "; done"),
    ("for i in a b; do ", "; done"),
    ("for ((i=0; i<1; i++)); do ", "; done"),
    ("select i in a; do ", "; done"),
    ("f() { ", "; }"),
    ("function f { ", "; }"),
    ("! ", ""),
    ("time ", ""),
    ("time -p ", ""),
    ("trap '", "' EXIT"),
    ("trap ", " EXIT"),
    ("ssh host ", ""),
    ("ssh host '", "'"),
    ("parallel ", ""),
    ("watch ", ""),
    ("watch -n 5 '", "'"),
    ("git -c alias.x='!", "' x"),
    ("git submodule foreach '", "'"),
    ("git rebase -x '", "'"),
    ("python3 -c '", "'"),
    ("python3 -c \"", "\""),
    ("perl -e '", "'"),
    ("awk '{ print | \"", "\" }'"),
    ("sed 's/a/", "/e'"),
    ("flock x -c '", "'"),
    ("su -c '", "'"),
    ("tmux new '", "'"),
    ("make X='", "'"),
    ("fairway exec start -- ", ""),
    ("alias a='", "'"),
    ("cat <<E\n", "\nE\n"),
    ("sh <<E\n", "\nE\n"),
    ("bash <<'E'\n", "\nE\n"),
    ("cat <<< \"", "\""),
    ("a=(", ")"),
    ("a[", "]=x"),
    ("x && ", ""),
    ("x || ", ""),
    ("x | ", ""),
    ("x & ", ""),
    ("x; ", ""),
    ("cd a || ", ""),
    ("cd a; ", ""),
    ("pushd a; ", ""),
    ("a1=x; ", ""),
    ("for a in *; do cd $a; ", "; done"),
    ("mkdir a/", ""),
    ("rm a ", ""),
    ("x git push ", ""),
    ("git ", ""),
    ("git-push ", ""),
    ("sed -i -e a ", ""),
    ("$a", ""),
    ("a=$b", ""),
    ("'", ""),
    ("\"", ""),
    ("\\", ""),
    ("\\\n", ""),
    ("<<a ", ""),
    ("'a b' ", ""),
    ("x 'a b' ", ""),
    ("nohup 'a b' ", ""),
    ("e", ""),
    ("|", ""),
    ("*", ""),
    ("?(", ")"),
    ("$'", "'"),
    ("#", "\n"),
];

/// The longest text that is tried.
const MAX_BYTES: usize = 64 << 10;

/// A nesting of openings around a command.
fn nested(openings: &[(&str, &str)], count: usize) -> String {
    let around: Vec<&(&str, &str)> = openings.iter().cycle().take(count).collect();
    let opened: String = around.iter().map(|(open, _)| *open).collect();
    let closed: String = around.iter().rev().map(|(_, close)| *close).collect();
    format!("{opened}git push -f{closed}")
}

/// Judges on a thread with the stack that the program has for it: one that needs more would end this test.
fn steps(text: &str) -> (usize, bool) {
    let (rules, text) = (no_force_push(), text.to_owned());
    let judged =
        time_limit::run_on_big_stack(64 << 20, std::time::Duration::from_secs(60), move || judged(&rules, &text));
    let judged = judged.expect("an answer");
    assert!(judged.steps <= MAX_STEPS || !judged.allowed, "{}", judged.reason);
    (judged.steps, judged.allowed)
}

/// Asserts that a text of twice as many openings costs a few times as much: what is looked at twice in each level costs 256 times as
/// much.
fn assert_no_doubling(openings: &[(&str, &str)]) {
    let [(once, _), (twice, _)] = [8, 16].map(|count| steps(&nested(openings, count)));
    assert!(twice <= 24 * once || twice > MAX_STEPS, "{openings:?}: {once} steps, then {twice}");
    assert!(twice <= MAX_STEPS / 2 || parses_twice(openings), "{openings:?}: {twice} steps");
}

/// Whether the parser itself tries an opening in two ways: such a nesting is not parsed at all.
fn parses_twice(openings: &[(&str, &str)]) -> bool {
    openings.iter().any(|(open, _)| open.contains('(') || open.contains("case"))
}

#[test]
fn nested_openings_do_not_double_the_work() {
    for (at, opening) in OPENINGS.iter().enumerate() {
        assert_no_doubling(&[*opening]);
        for other in [1, 11, 47] {
            assert_no_doubling(&[*opening, OPENINGS[(at + other) % OPENINGS.len()]]);
        }
    }
}

#[test]
fn text_of_many_wrappers_is_judged_by_what_it_runs() {
    for opening in ["find . -exec ", "env ", "nohup ", "xargs ", "time ", "sudo -u a "] {
        let text = opening.repeat(20);
        assert!(steps(&format!("{text}ls")).1, "{opening}");
        assert!(!steps(&format!("{text}git push -f")).1, "{opening}");
    }
}

#[test]
fn large_texts_are_judged_within_their_steps_and_stack() {
    for (open, close) in [
        ("find . -exec ", ""),
        ("coproc ", ""),
        ("env ", ""),
        ("{ a; ", "; }"),
        ("if a; then ", "; fi"),
        ("${x:-", "}"),
        ("*", ""),
        ("a[", "]=x"),
        ("x git push ", ""),
        ("e|", ""),
    ] {
        for count in [1_142, MAX_BYTES / (open.len() + close.len())] {
            let (steps, allowed) = steps(&nested(&[(open, close)], count));
            assert!(!allowed && steps < 4 * MAX_STEPS, "{open} {count}: {steps}");
        }
    }
}

#[test]
fn large_file_of_an_everyday_line_is_judged() {
    let line = "    let found = rows.iter().map(|row| (row.id, row.name)).collect::<Vec<_>>();\n";
    let text = format!("cat > src/rows.rs <<'E'\n{}E\ncargo test", line.repeat((24 << 10) / line.len()));
    let (steps, allowed) = steps(&text);
    assert!(allowed && steps < MAX_STEPS, "{steps}");
}

#[test]
fn text_beyond_the_steps_is_denied_and_says_so() {
    let (rules, text) = (no_force_push(), "echo a; ".repeat(6_000));
    let judged = judged(&rules, &text);
    assert!(!judged.allowed && judged.reason.contains("the text is too complex to judge"), "{}", judged.reason);
}

#[test]
#[ignore = "minutes long: part of `just soak`"]
fn pairs_of_nested_openings_do_not_double_the_work() {
    for one in OPENINGS {
        for other in OPENINGS {
            assert_no_doubling(&[*one, *other]);
        }
        for count in [200, 1_000, 4_000, usize::MAX] {
            steps(&nested(&[*one], count.min(MAX_BYTES / (one.0.len() + one.1.len()))));
        }
    }
}
