//! The analysis of one shell text: its state, its limits and the entry points.

use std::collections::BTreeSet;
use std::hash::Hash;
use std::rc::Rc;

use brush_parser::{Parser, ParserOptions, ast};

use super::analyzed_texts::SeenBefore;
use super::arg::Arg;
use super::text_checks::{trusts_git, trusts_home, unsupported_chars, unsupported_shape};
use super::variables::{self, Variables};
use super::working_dir::Place;
use crate::guard::budget::{Budget, TOO_COMPLEX};
use crate::guard::text_size::{
    case_depth, count_delimiters, count_unclosed_parentheses, parenthesis_depth, parse_steps,
};

/// The maximum depth of shell texts within shell texts.
pub(super) const MAX_DEPTH: usize = 12;
/// The maximum number of opening delimiters and keywords of a text.
const MAX_DELIMITERS: usize = 4_000;
/// How many parentheses a text may leave open.
const MAX_UNCLOSED_PARENTHESES: usize = 8;
/// How deep parentheses may be nested: the parser's time may double with each of them.
const MAX_PARENTHESIS_DEPTH: usize = 11;
/// The deepest nesting of `case`.
const MAX_CASE_DEPTH: usize = 5;
/// How many ends of a substitution are tried.
const MAX_SUBSTITUTION_ENDS: usize = 200;

/// A simple command that was found.
#[derive(Debug, Clone)]
pub(in crate::guard) struct FoundCommand {
    /// Its words.
    pub argv: Rc<[Arg]>,
    /// Whether the text runs it; `false` when it is only part of a word that another program may run.
    pub is_sure: bool,
    /// Whether it may run its later words as a command.
    pub runs_words: bool,
    /// Whether it stands in the text itself, with nothing around it.
    pub is_plain: bool,
    /// Where it runs.
    pub place: Rc<Place>,
}

/// The target of a redirection or of a program's own text.
#[derive(Debug, Clone)]
pub(in crate::guard) struct Write {
    pub path: Arg,
    /// The directory of the shell at that point.
    pub place: Rc<Place>,
}

/// The source of a command's input.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Stdin {
    /// Whatever there was before.
    Inherited,
    Text(String),
    /// Lines each of which is one of these, where a `*` stands for characters without a slash.
    Lines(Vec<String>),
    /// Something that cannot be determined: a pipe, a file, a text with expansions.
    Other,
}

impl Stdin {
    /// The steps that the budget counts for a copy of this input.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Text(text) => 1 + text.len() / 1_024,
            Self::Lines(lines) => 1 + lines.len(),
            Self::Inherited | Self::Other => 1,
        }
    }
}

/// Files that a text writes and runs.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact about the text, found on the way")]
pub(super) struct Files {
    /// The files that it writes, by their last name.
    pub(super) written: BTreeSet<String>,
    /// The files that it runs, by their last name.
    pub(super) executed: BTreeSet<String>,
    /// How many changes it makes to files.
    pub(super) changes: usize,
    /// Whether it writes one whose name cannot be determined.
    pub(super) writes_unknown: bool,
    /// Whether it runs one whose name cannot be determined.
    pub(super) runs_unknown: bool,
    /// Whether it writes a file in which git finds programs to run.
    pub(super) writes_git: bool,
    /// Whether it runs every test of node that it finds.
    pub(super) runs_tests_of_node: bool,
}

/// The expansions that have one value in the whole text.
#[derive(Debug, Default)]
pub(super) struct TrustedExpansions {
    /// `$HOME` and `$PWD`.
    pub(super) home: bool,
    /// The output of git.
    pub(super) git: bool,
    /// The values of variables that the text sets once.
    pub(super) variables: bool,
}

/// All that was found in a text.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact about the text, found on the way")]
pub(in crate::guard) struct ShellAnalysis {
    pub commands: Vec<FoundCommand>,
    /// The parts that cannot be determined.
    pub unresolved: Vec<String>,
    /// The targets of redirections.
    pub writes: Vec<Write>,
    /// The directory that the shell is in.
    pub(super) place: Rc<Place>,
    /// The directory before the last change.
    pub(super) previous_place: Option<Rc<Place>>,
    /// The directories that `pushd` has saved.
    pub(super) place_stack: Vec<Rc<Place>>,
    /// Whether it ends with the first command that fails.
    pub(super) stops_on_failure: bool,
    pub(super) text: Rc<str>,
    pub(super) variables: Variables,
    /// The words of the last simple command.
    pub(super) last_words: Vec<Arg>,
    pub(super) files: Files,
    /// The parts of the text that write files.
    pub written: String,
    /// A program that may run a file that the text does not name.
    pub runner: Option<String>,
    /// Directories of git that it sets: they are git's own, whatever else lies in them.
    pub git_directories: Vec<Write>,
    pub(super) is_in_pipeline: bool,
    /// Whether it sets a variable.
    pub assigns: bool,
    /// Whether it takes the hooks away that a session's environment gives to git.
    pub skips_git_hooks: bool,
    /// Whether it changes `PATH`.
    pub(super) sets_path: bool,
    pub(super) trusted: TrustedExpansions,
    pub(super) is_tentative: bool,
    pub(super) depth: usize,
    /// The number of wrappers around the current command.
    pub(super) wrapper_depth: usize,
    /// How often a variable was set.
    variable_changes: usize,
    seen_before: SeenBefore,
    pub(super) budget: Budget,
}

impl ShellAnalysis {
    /// Finds every command that a shell may run for this text.
    pub(in crate::guard) fn of_text(text: &str, budget: &Budget) -> Self {
        // A text that expands, sets and passes on nothing asks for no trust.
        let trusted = if text.contains(['$', '`', '=', '~', '|']) {
            TrustedExpansions { home: trusts_home(text), git: trusts_git(text), variables: variables::are_plain(text) }
        } else {
            TrustedExpansions::default()
        };
        let mut scan = Self { trusted, text: text.into(), budget: budget.clone(), ..Self::default() };
        scan.spend(text.len() / 4);
        if let Some(why) = unsupported_chars(text).or_else(|| unsupported_shape(text)) {
            scan.note_unresolved(why);
        }
        scan.analyze(text);
        scan.finish()
    }

    /// Finds every command that may run when a command with these words runs without a shell.
    pub(in crate::guard) fn of_words(words: &[String], budget: &Budget) -> Self {
        let mut scan = Self { budget: budget.clone(), ..Self::default() };
        if words.iter().any(|word| word.contains('\0')) {
            scan.note_unresolved("a word contains a control character");
        }
        if words.is_empty() {
            scan.note_unresolved("there is no command");
        }
        scan.analyze_command(words.iter().map(Arg::known).collect(), &Stdin::Inherited);
        scan.finish()
    }

    fn finish(mut self) -> Self {
        if let Some(name) = self.files.executed.intersection(&self.files.written).next().cloned() {
            self.note_unresolved(&format!("it writes {name} and runs it"));
        }
        if self.files.runs_unknown && !self.files.written.is_empty()
            || self.files.writes_unknown && !self.files.executed.is_empty()
        {
            self.note_unresolved("it writes a file, and may run it");
        }
        let is_test_of_node = |name: &String| [".js", ".mjs", ".cjs", ".ts"].iter().any(|end| name.ends_with(end));
        if self.files.runs_tests_of_node && self.files.written.iter().any(is_test_of_node) {
            self.note_unresolved("it writes a test, and runs the tests");
        }
        let programs: BTreeSet<String> =
            self.commands.iter().filter(|seen| seen.is_sure).filter_map(|seen| seen.argv.first()?.program()).collect();
        if self.sets_path && !programs.is_disjoint(&self.files.written) {
            self.note_unresolved("it writes a program and changes the search path");
        }
        if self.files.writes_git && programs.contains("git") {
            self.note_unresolved("it writes a file that git executes, and runs git");
        }
        if !self.written.is_empty() {
            self.runner = self.find_runner();
        }
        self.unresolved.dedup();
        self.spend(0);
        self
    }

    /// Records a reason why the text cannot be judged completely. Ignored while the analysis looks into a text that may be mere
    /// data.
    pub(super) fn note_unresolved(&mut self, why: &str) {
        if !self.is_tentative && self.unresolved.len() < 64 && !self.unresolved.iter().any(|known| known == why) {
            self.unresolved.push(why.to_owned());
        }
    }

    /// Counts work that is about to be done. Returns `false` when the budget is spent: the text is then unresolved, and the
    /// caller skips the work.
    pub(super) fn spend(&mut self, steps: usize) -> bool {
        let may = self.budget.spend(steps);
        if !may {
            let was = std::mem::replace(&mut self.is_tentative, false);
            self.note_unresolved(TOO_COMPLEX);
            self.is_tentative = was;
        }
        may
    }

    /// Whether `what` was already analyzed in this directory, with these variables and options; if not, it is recorded. `false`
    /// also when the budget is spent or the directory stack is in use. Only for an analysis that leaves the state of the current
    /// shell unchanged.
    pub(super) fn is_seen_before(&mut self, what: impl Hash) -> bool {
        if !self.place_stack.is_empty() || !self.spend(self.place.size() / 8) {
            return false;
        }
        let is_wrapped = self.wrapper_depth > 0 || self.is_tentative;
        let variables = if is_wrapped { None } else { Some(self.variables.version()) };
        let state = (variables, is_wrapped, self.is_tentative, self.stops_on_failure, self.trusted.home);
        let depth = (self.depth, self.wrapper_depth);
        self.seen_before.is_seen((what, state, &*self.place, self.previous_place.as_deref()), depth)
    }

    /// Analyzes a text that runs in a shell of its own: its changes of directory and variables end with it.
    pub(super) fn analyze(&mut self, text: &str) {
        if self.spend(1 + text.len() / 16) && !self.is_seen_before(("text", text)) {
            let last_words = self.last_words.clone();
            self.in_subshell(|scan| scan.analyze_text(text, &Stdin::Inherited));
            // Where another shell ends, this one does not.
            self.last_words = last_words;
        }
    }

    /// Analyzes a command that another program, such as `xargs`, runs in a process of its own.
    pub(super) fn analyze_child(&mut self, argv: Vec<Arg>, stdin: &Stdin) {
        self.wrapper_depth += 1;
        if self.spend(argv.len() + stdin.size()) && !self.is_seen_before(("command", &argv, stdin)) {
            self.in_subshell(|scan| scan.analyze_command(argv, stdin));
        }
        self.wrapper_depth -= 1;
    }

    /// Analyzes a text that may be run or may be mere data. Commands in it are found, and parts that cannot be determined are
    /// ignored.
    pub(super) fn analyze_maybe(&mut self, text: &str) {
        if text.len() < 4 || self.depth >= MAX_DEPTH {
            return;
        }
        if !self.spend(8 + text.len()) {
            return;
        }
        let was = std::mem::replace(&mut self.is_tentative, true);
        self.wrapper_depth += 1;
        if self.is_seen_before(("perhaps", text)) {
            self.wrapper_depth -= 1;
            self.is_tentative = was;
            return;
        }
        if text.contains([' ', '\t', '\n', ';', '|', '&', '$']) {
            self.in_subshell(|scan| scan.analyze_text(text, &Stdin::Inherited));
        }
        let is_part =
            |character: char| !(character.is_alphanumeric() || matches!(character, '-' | '_' | '/' | '.' | '+' | '@'));
        let tokens: Vec<Arg> = text.split(is_part).filter(|token| !token.is_empty()).map(Arg::known).collect();
        if tokens.len() > 1 {
            self.add_command(tokens, true);
        }
        self.wrapper_depth -= 1;
        self.is_tentative = was;
    }

    pub(super) fn add_command(&mut self, argv: Vec<Arg>, runs_words: bool) {
        if !self.spend(2 * argv.len()) {
            return;
        }
        let is_plain = self.wrapper_depth == 0 && !self.is_tentative;
        let (is_sure, place) = (!self.is_tentative, Rc::clone(&self.place));
        self.commands.push(FoundCommand { argv: argv.into(), is_sure, runs_words, is_plain, place });
    }

    /// The value of a variable that the text sets in one place only; `None` when the value cannot be relied on.
    pub(super) fn variable(&self, name: &str) -> Option<Arg> {
        if self.wrapper_depth > 0 || self.is_tentative || !self.trusted.variables {
            return None;
        }
        let value = self.variables.get(name)?;
        // The text is searched for every use.
        let may = self.budget.spend(1 + self.text.len() / 64);
        (may && variables::is_set_once(&self.text, name)).then(|| value.clone())
    }

    pub(super) fn set_variable(&mut self, name: &str, value: &Arg) {
        if self.spend(1 + self.variables.len()) {
            self.variable_changes += 1;
            self.variables.set(name, value, self.variable_changes);
        }
    }

    /// Runs `work` as in a subshell: the directory, the variables and `set -e` are restored afterwards.
    pub(super) fn in_subshell<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let (place, variables, stops) = (Rc::clone(&self.place), self.variables.clone(), self.stops_on_failure);
        let done = work(self);
        (self.place, self.variables, self.stops_on_failure) = (place, variables, stops);
        done
    }

    pub(super) fn analyze_text(&mut self, text: &str, stdin: &Stdin) {
        if text.trim().is_empty() {
            return;
        }
        if self.depth >= MAX_DEPTH {
            self.note_unresolved("the shell nesting is too deep");
            return;
        }
        self.depth += 1;
        match self.parse(text) {
            Some(program) => {
                for list in &program.complete_commands {
                    self.walk_list(list, stdin);
                }
            }
            None => self.note_unresolved("the text cannot be parsed"),
        }
        self.depth -= 1;
    }

    pub(super) fn parse(&mut self, text: &str) -> Option<ast::Program> {
        if !self.spend(8 + 2 * text.len()) {
            return None;
        }
        if count_delimiters(text) > MAX_DELIMITERS {
            self.note_unresolved("the text is too deeply nested");
            return None;
        }
        if count_unclosed_parentheses(text) > MAX_UNCLOSED_PARENTHESES {
            self.note_unresolved("it has parentheses that are not closed");
            return None;
        }
        if parenthesis_depth(text) > MAX_PARENTHESIS_DEPTH || case_depth(text) > MAX_CASE_DEPTH {
            self.note_unresolved("the text is too complex");
            return None;
        }
        if !self.spend(parse_steps(text)) {
            return None;
        }
        let options = ParserOptions::default();
        Parser::new(text.as_bytes(), &options).parse_program().ok()
    }

    /// The index of the parenthesis that closes the substitution whose text begins at `from`: the first one before which the
    /// text is a complete program. `None` when none is found or the budget is spent.
    pub(super) fn substitution_end(&mut self, chars: &[char], from: usize) -> Option<usize> {
        let rest = chars.get(from..)?;
        if !self.spend(1 + rest.len() / 64) {
            return None;
        }
        let is_plain = |character: &char| !matches!(character, '\'' | '"' | '\\' | '#' | '<' | '(' | '`' | '\n');
        let ends = rest
            .iter()
            .enumerate()
            .filter(|(_, character)| **character == ')')
            .map(|(end, _)| end)
            .take(MAX_SUBSTITUTION_ENDS);
        for end in ends {
            let inside = rest.get(..end)?;
            if !self.spend(1 + end / 16) {
                return None;
            }
            let is_case = inside.windows(4).any(|word| word == ['c', 'a', 's', 'e']);
            if inside.iter().all(is_plain) && !is_case {
                return Some(from + end);
            }
            let inside: String = inside.iter().collect();
            // The parenthesis must close it: one in a comment, a quote or a document does not.
            if inside.trim().is_empty() || self.parse(&format!("({inside})")).is_some() {
                return Some(from + end);
            }
        }
        None
    }

    /// Analyzes the commands in every substitution of a text that begins with one of `openings`, such as `$(`.
    pub(super) fn analyze_substitutions(&mut self, text: &str, openings: &[&str]) {
        if !self.spend(1 + text.len() / 4) {
            return;
        }
        let chars: Vec<char> = text.chars().collect();
        for opening in openings {
            let opening: Vec<char> = opening.chars().collect();
            for place in 0..chars.len() {
                if chars.get(place..place + opening.len()) != Some(opening.as_slice()) {
                    continue;
                }
                let from = place + opening.len();
                let end = if opening == ['`'] {
                    chars.iter().skip(from).position(|character| *character == '`').map(|end| from + end)
                } else {
                    self.substitution_end(&chars, from)
                };
                let Some(end) = end else { continue };
                let inside: String = chars.get(from..end).unwrap_or_default().iter().collect();
                self.analyze(&inside);
            }
        }
    }

    /// Analyzes the substitutions in a text that the shell expands later, such as a subscript or the value of `PS1`.
    pub(super) fn analyze_deferred(&mut self, arg: &Arg) {
        if let Some(text) = arg.text().filter(|text| text.contains("$(") || text.contains('`')) {
            self.analyze_substitutions(text, &["$(", "`"]);
        }
    }
}
