//! Whether a rule means a command: its leading words, its flags, and what is the same under another name.

use super::budget::{Budget, TOO_COMPLEX};
use super::shell::arg::{Arg, base_name, plain_name};
use super::shell::{FoundCommand, git};
use super::{Rule, same_commands};

/// The result of one rule for a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MatchResult {
    /// The rule does not match.
    No,
    /// The rule may match, depending on what the shell expands; the reason.
    Maybe(String),
    /// The rule matches.
    Yes,
}

/// Whether a deny rule matches a command. `Maybe` when that depends on an expansion, or when the budget is spent. When the name
/// of the program itself is an expansion, only the later words are compared: the analysis has then already recorded that the text
/// is unresolved.
pub(super) fn match_deny(rule: &Rule, seen: &FoundCommand, budget: &Budget) -> MatchResult {
    if !budget.spend(1 + seen.argv.len()) {
        return MatchResult::Maybe(TOO_COMPLEX.to_owned());
    }
    let Some(program) = rule.command.first().map(|word| plain_name(base_name(word))) else { return MatchResult::No };
    let first = seen.argv.first().and_then(Arg::program);
    let mut found = match first {
        Some(name) => match_program(rule, &program, &name, &seen.argv),
        // The doubt about it stands elsewhere.
        None => MatchResult::No,
    };
    if found != MatchResult::Yes && seen.runs_words {
        for place in 1..seen.argv.len() {
            let rest = seen.argv.get(place..).unwrap_or_default();
            let name = rest
                .first()
                .and_then(Arg::text)
                .map(|text| plain_name(base_name(text.strip_prefix('=').unwrap_or(text))));
            if name.as_ref().is_some_and(|name| may_be(&program, name)) && !budget.spend(rest.len()) {
                return MatchResult::Maybe(TOO_COMPLEX.to_owned());
            }
            // Among words of which one may be run only what is surely there counts.
            if name.is_some_and(|name| match_program(rule, &program, &name, rest) == MatchResult::Yes) {
                found = MatchResult::Yes;
                break;
            }
        }
    }
    match found {
        // A part of a word that is a command by itself counts with its expansions.
        MatchResult::Maybe(_) if !seen.is_sure && seen.argv.iter().all(|arg| arg.text().is_some()) => MatchResult::No,
        found => found,
    }
}

/// How many words of another language may stand between the words of a command: `Command::new("git").args(["push", …])`.
const MAX_WORDS_BETWEEN: usize = 2;
/// How many words behind a command may be its flags.
const MAX_FLAG_WORDS: usize = 12;

/// Whether a text that is written to a file names the rule's command with one of the rule's flags, in any programming language:
/// `Command::new("git").args(["push", "-f"])`. For a rule without flags, the command is enough. Also `true` when the budget is
/// spent before the flags are compared.
pub(super) fn mentions(rule: &Rule, text: &str, budget: &Budget) -> bool {
    let Some(program) = rule.command.first().map(|word| plain_name(base_name(word))) else { return false };
    // A line end that is written as one separates words.
    let text = text.replace("\\n", "\n").replace("\\t", "\t");
    let is_part = |character: char| character.is_alphanumeric() || matches!(character, '-' | '_' | '+' | '=');
    text.split([';', '&', '|', '\n']).any(|line| {
        let words: Vec<Arg> = line.split(|one| !is_part(one)).filter(|word| !word.is_empty()).map(Arg::known).collect();
        // A line that a patch adds begins with its sign.
        let plain = |word: &str| plain_name(word.trim_start_matches('+'));
        let is_program = |word: &Arg| word.text().is_some_and(|word| is_named(&program, &plain(word)));
        words.iter().enumerate().filter(|(_, word)| is_program(word)).any(|(at, _)| {
            let mut rest = words.get(at + 1..).unwrap_or_default();
            for want in rule.command.iter().skip(1) {
                let found = rest.iter().take(MAX_WORDS_BETWEEN + 1).position(|word| word.text() == Some(want));
                let Some(found) = found else { return false };
                rest = rest.get(found + 1..).unwrap_or_default();
            }
            let rest = rest.get(..MAX_FLAG_WORDS).unwrap_or(rest);
            let is_known = budget.spend(1 + rest.len() * rule.flags.len());
            !is_known || rule.flags.is_empty() || match_flags(rule, rest, false) == MatchResult::Yes
        })
    })
}

/// Whether an allow rule matches a command. Unlike for a deny rule, the words must be spelled as in the rule, no word may be an
/// expansion, and the command may not be run by a wrapper such as `sudo`.
pub(super) fn match_allow(rule: &Rule, seen: &FoundCommand) -> bool {
    let words: Option<Vec<&str>> = seen.argv.iter().map(Arg::text).collect();
    let Some(words) = words else { return false };
    seen.is_sure
        && seen.is_plain
        && words.len() >= rule.command.len()
        && rule.command.iter().zip(&words).all(|(want, have)| want == have)
        && (rule.flags.is_empty() || words.iter().any(|word| rule.flags.iter().any(|flag| flag == word)))
}

/// Whether a program of this name is the rule's. `hub` hands to git what it does not know itself.
fn is_named(program: &str, name: &str) -> bool {
    let program = same_commands::program(program);
    same_commands::program(name) == program || name == "hub" && program == "git"
}

/// Whether a command that begins with this name may be one of the rule's program: `git-push` is `git push`.
fn may_be(program: &str, name: &str) -> bool {
    let is_joined = name.strip_prefix(same_commands::program(program)).is_some_and(|rest| rest.starts_with('-'));
    is_joined || is_named(program, name)
}

fn match_program(rule: &Rule, program: &str, name: &str, argv: &[Arg]) -> MatchResult {
    if !may_be(program, name) {
        return MatchResult::No;
    }
    let is_named = is_named(program, name);
    let program = same_commands::program(program);
    let words: Vec<&str> = rule.command.iter().skip(1).map(String::as_str).collect();
    let mut found = MatchResult::No;
    for want in same_commands::word_lists(program, &words) {
        if is_named {
            match match_arguments(rule, program, &want, argv, program == "git") {
                MatchResult::Yes => return MatchResult::Yes,
                MatchResult::Maybe(why) => found = MatchResult::Maybe(why),
                MatchResult::No => {}
            }
        }
        let behind = name.strip_prefix(program).and_then(|rest| rest.strip_prefix('-')).filter(|_| !want.is_empty());
        for joined in 1..=behind.map_or(0, |_| want.len()) {
            if behind == Some(want.get(..joined).unwrap_or_default().join("-").as_str()) {
                return match_arguments(rule, program, want.get(joined..).unwrap_or_default(), argv, false);
            }
        }
    }
    found
}

/// The rest of a command whose program is meant.
fn match_arguments(rule: &Rule, program: &str, want: &[&str], argv: &[Arg], is_git: bool) -> MatchResult {
    let mut from = 1;
    let mut want = want;
    if is_git && !want.is_empty() {
        let (at, is_known) = git::command_at(argv);
        let unknown = || MatchResult::Maybe("the git command is an expansion".to_owned());
        if !is_known {
            return unknown();
        }
        let Some(command) = argv.get(at) else { return MatchResult::No };
        let Some(text) = command.text() else { return unknown() };
        if Some(&text) != want.first() {
            return MatchResult::No;
        }
        want = want.get(1..).unwrap_or_default();
        from = at + 1;
    }
    let args = argv.get(from..).unwrap_or_default();
    let (rest, mut doubt) = match match_words(want, args, program) {
        (MatchResult::No, _) => return MatchResult::No,
        (MatchResult::Maybe(why), at) => (from + at, Some(why)),
        (MatchResult::Yes, at) => (from + at, None),
    };
    if !rule.flags.is_empty() {
        // Options of git itself are no options of its commands; elsewhere they may stand anywhere.
        let args = if is_git { argv.get(rest..) } else { argv.get(1..) }.unwrap_or_default();
        match match_flags(rule, args, is_git) {
            MatchResult::No => return MatchResult::No,
            MatchResult::Maybe(why) => doubt = Some(doubt.unwrap_or(why)),
            MatchResult::Yes => {}
        }
    }
    doubt.map_or(MatchResult::Yes, MatchResult::Maybe)
}

/// Whether these words stand in this order, possibly with options and their values between them; and the index behind the last
/// one.
fn match_words(want: &[&str], args: &[Arg], program: &str) -> (MatchResult, usize) {
    if same_commands::has_targets(program) && want.iter().all(|want| args.iter().any(|arg| arg.text() == Some(want))) {
        return (MatchResult::Yes, 0);
    }
    // npm takes any beginning of a command's name.
    let is_short = program == "npm";
    let (mut want, mut after_option, mut doubt) = (want.iter(), false, None);
    let Some(mut next) = want.next() else { return (MatchResult::Yes, 0) };
    for (place, arg) in args.iter().enumerate() {
        let unknown = || format!("'{}' is an expansion", arg.display());
        match arg.text() {
            Some(text) if text == *next || is_short && !text.is_empty() && next.starts_with(text) => {
                match want.next() {
                    Some(more) => (next, after_option) = (more, false),
                    None => return (doubt.map_or(MatchResult::Yes, MatchResult::Maybe), place + 1),
                }
            }
            Some(text) if text.starts_with(['-', '+']) && text.len() > 1 => after_option = !text.contains('='),
            Some(text) if same_commands::is_idle_word(program, text) => {}
            // It may be an option's value.
            Some(_) if after_option => after_option = false,
            Some(_) => return (MatchResult::No, 0),
            None if arg.may_split() => return (MatchResult::Maybe(unknown()), place + 1),
            None if !arg.head().is_empty() && !next.starts_with(arg.head()) && !arg.may_be_option() => {
                if !after_option {
                    return (MatchResult::No, 0);
                }
                after_option = false;
            }
            None => {
                // It may be the word, an option, or an option's value.
                doubt = Some(unknown());
                if !after_option {
                    return (MatchResult::Maybe(unknown()), place + 1);
                }
                after_option = false;
            }
        }
    }
    match doubt {
        Some(why) => (MatchResult::Maybe(why), args.len()),
        None => (MatchResult::No, 0),
    }
}

/// Whether one of the rule's flags stands among these words.
fn match_flags(rule: &Rule, args: &[Arg], honours_dashes: bool) -> MatchResult {
    let flags = flag_spellings(rule);
    let is_push = rule.command.get(1).is_some_and(|word| word == "push")
        && rule.command.first().is_some_and(|word| base_name(word) == "git");
    let forces = is_push && flags.iter().any(|flag| matches!(*flag, "--force" | "-f"));
    let mut chars = String::new();
    let (mut doubt, mut is_over) = (None, false);
    for (place, arg) in args.iter().enumerate() {
        let text = match arg {
            Arg::Known(text) => text.as_str(),
            Arg::Unknown { head, .. } => {
                let plain = |flag: &&str| !flag.starts_with(['-', '+']);
                let may_be = arg.may_be_option() && !is_over || arg.may_split();
                let may_be_word = flags.iter().any(|flag| {
                    plain(flag)
                        && flag
                            .split('*')
                            .next()
                            .is_some_and(|start| start.starts_with(head.as_str()) || head.starts_with(start))
                });
                let may_force = forces && (head.is_empty() || head.starts_with('+') || arg.may_split());
                if may_be && could_be_flag(&flags, arg) || may_be_word || may_force {
                    doubt.get_or_insert_with(|| {
                        format!("'{}' is an expansion and may be one of the flags", arg.display())
                    });
                }
                continue;
            }
        };
        if forces && (text.starts_with('+') || text.len() > 4 && "--mirror".starts_with(text) || text == "--stdin") {
            return MatchResult::Yes;
        }
        for flag in &flags {
            if is_over && flag.starts_with('-') {
                continue;
            }
            if flag_matches(flag, text) {
                return MatchResult::Yes;
            }
            if let Some((name, value)) = flag.split_once('=').filter(|(name, _)| *name == text) {
                let next = args.get(place + 1);
                match next.map(|next| (next.text(), name)) {
                    Some((Some(next), _)) if next == value => return MatchResult::Yes,
                    Some((None, _)) => doubt = Some(format!("the value of {text} is an expansion")),
                    _ => {}
                }
            }
        }
        if text == "--" && honours_dashes {
            // A word behind an option may be its value, and the options go on.
            is_over |=
                place == 0 || args.get(place - 1).and_then(Arg::text).is_some_and(|before| !before.starts_with('-'));
        }
        if !is_over && text.starts_with('-') {
            chars.push_str(&letters_of(rule, text));
            let together = |flag: &&str| {
                let cluster = flag.strip_prefix('-').filter(|cluster| !cluster.starts_with('-')).unwrap_or_default();
                (2..=4).contains(&cluster.chars().count()) && cluster.chars().all(|character| chars.contains(character))
            };
            if flags.iter().any(together) {
                return MatchResult::Yes;
            }
        }
    }
    doubt.map_or(MatchResult::No, MatchResult::Maybe)
}

/// The rule's flags in every spelling that is known for its program.
fn flag_spellings(rule: &Rule) -> Vec<&str> {
    let mut flags: Vec<&str> = rule.flags.iter().map(String::as_str).collect();
    for same in same_commands::flag_groups(&rule.command) {
        if same.iter().any(|one| rule.flags.iter().any(|flag| flag == one)) {
            flags.extend(same);
        }
    }
    flags
}

/// The short flags that a word stands for: its letters, and every letter that is the same flag in this command.
fn letters_of(rule: &Rule, word: &str) -> String {
    let own = if word.starts_with("--") { "" } else { word.get(1..).unwrap_or_default() };
    let mut letters = own.to_owned();
    for same in same_commands::flag_groups(&rule.command) {
        let is_meant = |flag: &&str| match flag.strip_prefix("--") {
            Some(_) => flag_matches(flag, word),
            None => flag.len() == 2 && own.contains(flag.get(1..).unwrap_or("\0")),
        };
        if same.iter().any(is_meant) {
            letters.extend(same.iter().filter(|flag| flag.len() == 2).filter_map(|flag| flag.chars().nth(1)));
        }
    }
    letters
}

/// Whether a word is a flag: in full, shortened, with a value, or among others behind one dash.
fn flag_matches(flag: &str, text: &str) -> bool {
    if let Some(name) = flag.strip_prefix("--") {
        let Some(word) = text.strip_prefix("--").filter(|word| !word.is_empty()) else { return false };
        if name.contains('=') {
            return word == name;
        }
        let word = word.split_once('=').map_or(word, |(word, _)| word);
        return !word.is_empty() && name.starts_with(word);
    }
    if let Some(chars) = flag.strip_prefix('-').filter(|chars| !chars.is_empty()) {
        let single = chars.chars().count() == 1;
        let cluster = text.strip_prefix('-').filter(|cluster| !cluster.starts_with('-'));
        return text == flag
            || !single && text.strip_prefix(flag).is_some_and(|rest| rest.starts_with('='))
            || single && cluster.is_some_and(|cluster| cluster.contains(chars));
    }
    // A word, or a glob of words.
    super::tool_names::matches_pattern(flag, text)
}

/// Whether an expansion with a known beginning could be one of the flags.
fn could_be_flag(flags: &[&str], arg: &Arg) -> bool {
    let head = arg.head();
    if head.is_empty() || arg.may_split() {
        return true;
    }
    let before_value = head.split_once('=').map(|(name, _)| name);
    flags.iter().any(|flag| match before_value {
        Some(name) => flag_matches(flag, name) || flag.contains('='),
        None => {
            let is_long = head.starts_with("--") && head.len() > 2;
            // `-` and what follows may be anything; `--fo` only what begins so.
            !is_long || flag.starts_with(head)
        }
    })
}
