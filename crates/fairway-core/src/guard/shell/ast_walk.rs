//! The walk over a parsed text.

use std::rc::Rc;

use brush_parser::ast::{
    AndOr, AndOrList, Assignment, AssignmentName, AssignmentValue, Command, CommandPrefixOrSuffixItem as Item,
    CompoundCommand, CompoundList, ExtendedTestExpr, FunctionDefinition, IoFileRedirectKind, IoFileRedirectTarget,
    IoRedirect, Pipeline, SeparatorOperator, SimpleCommand, Word,
};

use super::arg::{Arg, Expansion};
use super::working_dir::Place;
use super::{ShellAnalysis, Stdin, Write, listing, word_parser};

/// The steps of a simple command, besides its words.
const SIMPLE_COMMAND_STEPS: usize = 40;

impl ShellAnalysis {
    pub(super) fn walk_list(&mut self, list: &CompoundList, stdin: &Stdin) {
        for item in &list.0 {
            if self.budget.is_spent() {
                return;
            }
            match item.1 {
                SeparatorOperator::Async => self.in_subshell(|scan| scan.walk_and_or(&item.0, stdin)),
                SeparatorOperator::Sequence => self.walk_and_or(&item.0, stdin),
            }
        }
    }

    /// The command behind `&&` runs where the command before it has led to; behind `||` and the whole list, that may have failed.
    fn walk_and_or(&mut self, list: &AndOrList, stdin: &Stdin) {
        let mut failed: Option<Rc<Place>> = None;
        self.walk_step(&list.first, stdin, &mut failed);
        let always_set = (!list.additional.is_empty()).then(|| self.variables.clone());
        for more in &list.additional {
            match more {
                AndOr::And(pipeline) => self.walk_step(pipeline, stdin, &mut failed),
                AndOr::Or(pipeline) => {
                    let succeeded = Rc::clone(&self.place);
                    self.place = failed.take().unwrap_or_else(|| Rc::clone(&succeeded));
                    self.variables = always_set.clone().unwrap_or_default();
                    self.last_words.clear();
                    self.walk_pipeline(pipeline, stdin);
                    let last = self.last_words.first().and_then(Arg::text);
                    let leaves = matches!(last, Some("exit" | "return" | "break" | "continue"));
                    self.place = if leaves { succeeded } else { self.either_place(&succeeded) };
                }
            }
        }
        if let Some(always_set) = always_set {
            self.variables = always_set;
        }
        if let Some(failed) = failed.filter(|_| !self.stops_on_failure) {
            self.place = self.either_place(&failed);
        }
    }

    /// Walks a pipeline. `failed` collects the directories that the shell may be in when a change of directory fails.
    fn walk_step(&mut self, pipeline: &Pipeline, stdin: &Stdin, failed: &mut Option<Rc<Place>>) {
        let before = Rc::clone(&self.place);
        self.walk_pipeline(pipeline, stdin);
        if before != self.place {
            let others = failed.take().unwrap_or_else(|| Rc::clone(&before));
            self.spend(others.size() + before.size());
            *failed = Some(Rc::new(others.or(&before)));
        }
    }

    /// The current directories and those of `other` together.
    fn either_place(&mut self, other: &Rc<Place>) -> Rc<Place> {
        if self.place == *other || !self.spend(self.place.size() + other.size()) {
            return Rc::clone(&self.place);
        }
        Rc::new(self.place.or(other))
    }

    /// Walks a list that may not run at all.
    fn walk_branch(&mut self, list: &CompoundList, stdin: &Stdin) {
        let (place, variables) = (Rc::clone(&self.place), self.variables.clone());
        self.walk_list(list, stdin);
        self.variables = variables;
        self.place = self.either_place(&place);
    }

    /// Walks a list that runs repeatedly: the directory at its end can be the one at its beginning.
    fn walk_loop(&mut self, list: &CompoundList, stdin: &Stdin) {
        let (place, commands, writes) = (Rc::clone(&self.place), self.commands.len(), self.writes.len());
        self.walk_branch(list, stdin);
        if place != self.place {
            self.place = Rc::new(Place::lost());
            self.spend(self.commands.len() - commands + self.writes.len() - writes);
            let lost = &self.place;
            self.commands.iter_mut().skip(commands).for_each(|seen| seen.place = Rc::clone(lost));
            self.writes.iter_mut().skip(writes).for_each(|write| write.place = Rc::clone(lost));
        }
    }

    fn walk_pipeline(&mut self, pipeline: &Pipeline, stdin: &Stdin) {
        let was_inside = std::mem::replace(&mut self.is_in_pipeline, true);
        let changes = self.files.changes;
        self.walk_stages(pipeline, stdin);
        self.is_in_pipeline = was_inside;
        if !was_inside && self.files.changes > changes {
            let text = pipeline.to_string();
            if self.spend(text.len() / 8) {
                self.written.push_str(&text);
                self.written.push('\n');
            }
        }
    }

    fn walk_stages(&mut self, pipeline: &Pipeline, stdin: &Stdin) {
        if let [command] = pipeline.seq.as_slice() {
            return self.walk_command(command, stdin);
        }
        let mut input = stdin.clone();
        for command in &pipeline.seq {
            if !self.spend(input.size()) {
                return;
            }
            self.last_words.clear();
            self.in_subshell(|scan| scan.walk_command(command, &input));
            let lines = match &input {
                Stdin::Lines(lines) => Some(lines.as_slice()),
                _ => None,
            };
            let is_simple = matches!(command, Command::Simple(_)) && self.trusted.git;
            let printed = if is_simple { listing::of_command(&self.last_words, lines) } else { None };
            input = printed.map_or(Stdin::Other, Stdin::Lines);
        }
    }

    fn walk_command(&mut self, command: &Command, stdin: &Stdin) {
        match command {
            Command::Simple(simple) => self.walk_simple(simple, stdin),
            Command::Compound(compound, redirects) => {
                let stdin = redirects
                    .iter()
                    .flat_map(|list| &list.0)
                    .fold(stdin.clone(), |stdin, redirect| self.walk_redirect(redirect).unwrap_or(stdin));
                self.walk_compound(compound, &stdin);
            }
            Command::Function(function) => self.walk_function(function),
            Command::ExtendedTest(test, redirects) => {
                for redirect in redirects.iter().flat_map(|list| &list.0) {
                    self.walk_redirect(redirect);
                }
                self.walk_test(&test.expr);
            }
        }
    }

    fn walk_compound(&mut self, compound: &CompoundCommand, stdin: &Stdin) {
        match compound {
            CompoundCommand::Arithmetic(arithmetic) => self.analyze_arithmetic(&arithmetic.expr.value),
            CompoundCommand::ArithmeticForClause(clause) => {
                for text in [&clause.initializer, &clause.condition, &clause.updater].into_iter().flatten() {
                    self.analyze_arithmetic(&text.value);
                }
                self.walk_loop(&clause.body.list, stdin);
            }
            CompoundCommand::BraceGroup(group) => self.walk_list(&group.list, stdin),
            CompoundCommand::Subshell(shell) => self.in_subshell(|scan| scan.walk_list(&shell.list, stdin)),
            CompoundCommand::ForClause(clause) => {
                let values: Vec<Arg> = clause.values.iter().flatten().map(|value| self.walk_word(value)).collect();
                let words: Option<Vec<_>> = values.iter().map(Arg::candidates).collect();
                let words = words.map(|words| words.concat()).filter(|words| !words.is_empty() && words.len() <= 64);
                let value = words.map_or_else(Arg::anything, |words| Arg::one_of(words, Expansion::One));
                let before = self.variables.clone();
                self.set_variable(&clause.variable_name, &value);
                self.walk_loop(&clause.body.list, stdin);
                self.variables = before;
            }
            CompoundCommand::CaseClause(clause) => {
                self.walk_word(&clause.value);
                for case in &clause.cases {
                    for pattern in &case.patterns {
                        self.walk_word(pattern);
                    }
                    if let Some(list) = &case.cmd {
                        self.walk_branch(list, stdin);
                    }
                }
            }
            CompoundCommand::IfClause(clause) => {
                self.walk_branch(&clause.condition, stdin);
                self.walk_branch(&clause.then, stdin);
                for other in clause.elses.iter().flatten() {
                    if let Some(condition) = &other.condition {
                        self.walk_branch(condition, stdin);
                    }
                    self.walk_branch(&other.body, stdin);
                }
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.walk_loop(&clause.0, stdin);
                self.walk_loop(&clause.1.list, stdin);
            }
            CompoundCommand::Coprocess(process) => {
                if let Some(name) = &process.name {
                    self.walk_word(name);
                }
                self.walk_command(&process.body, &Stdin::Other);
            }
        }
    }

    fn walk_function(&mut self, function: &FunctionDefinition) {
        self.wrapper_depth += 1;
        // The caller of the function provides its input, and the directory.
        let place = Rc::clone(&self.place);
        if ["cd ", "cd\n", "pushd"].iter().any(|sign| self.text.contains(sign)) {
            self.place = Rc::new(Place::lost());
        }
        let stdin = function
            .body
            .1
            .iter()
            .flat_map(|list| &list.0)
            .fold(Stdin::Other, |stdin, redirect| self.walk_redirect(redirect).unwrap_or(stdin));
        self.walk_compound(&function.body.0, &stdin);
        self.place = place;
        self.wrapper_depth -= 1;
    }

    fn walk_test(&mut self, test: &ExtendedTestExpr) {
        match test {
            ExtendedTestExpr::And(left, right) | ExtendedTestExpr::Or(left, right) => {
                self.walk_test(left);
                self.walk_test(right);
            }
            ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => self.walk_test(inner),
            ExtendedTestExpr::UnaryTest(_, word) => {
                let arg = self.walk_word(word);
                self.analyze_deferred(&arg);
            }
            ExtendedTestExpr::BinaryTest(_, left, right) => {
                for word in [left, right] {
                    let arg = self.walk_word(word);
                    self.analyze_deferred(&arg);
                }
            }
        }
    }

    fn walk_word(&mut self, word: &Word) -> Arg {
        word_parser::parse_word(self, &word.value)
    }

    fn walk_simple(&mut self, command: &SimpleCommand, stdin: &Stdin) {
        if !self.spend(SIMPLE_COMMAND_STEPS + stdin.size()) {
            return;
        }
        let mut stdin = stdin.clone();
        let mut argv = Vec::new();
        let prefix = command.prefix.iter().flat_map(|prefix| &prefix.0);
        let suffix = command.suffix.iter().flat_map(|suffix| &suffix.0);
        let mut assigned = false;
        let variables = command.prefix.as_ref().map(|_| self.variables.clone());
        for item in prefix {
            assigned |= matches!(item, Item::AssignmentWord(..));
            self.walk_item(item, &mut argv, &mut stdin, true);
        }
        if command.word_or_name.is_some()
            && let Some(variables) = variables
        {
            // An assignment before a command holds for the command only.
            self.variables = variables;
        }
        if let Some(word) = &command.word_or_name {
            argv.push(self.walk_word(word));
        }
        for item in suffix {
            self.walk_item(item, &mut argv, &mut stdin, false);
        }
        self.last_words.clone_from(&argv);
        if assigned && !argv.is_empty() {
            // An assignment changes the command's effect: no rule allows that by name.
            self.wrapper_depth += 1;
            self.analyze_command(argv, &stdin);
            self.wrapper_depth -= 1;
        } else {
            self.analyze_command(argv, &stdin);
        }
    }

    fn walk_item(&mut self, item: &Item, argv: &mut Vec<Arg>, stdin: &mut Stdin, is_prefix: bool) {
        match item {
            Item::Word(word) => {
                let arg = self.walk_word(word);
                argv.push(arg);
            }
            Item::IoRedirect(redirect) => {
                if let Some(other) = self.walk_redirect(redirect) {
                    *stdin = other;
                }
            }
            Item::AssignmentWord(assignment, word) => {
                let (name, value) = self.walk_assignment(assignment);
                if !is_prefix {
                    argv.push(match (value, &assignment.name) {
                        // What is substituted in it is looked at once.
                        (Some(value), AssignmentName::VariableName(_)) => {
                            value.behind(&format!("{name}{}=", if assignment.append { "+" } else { "" }))
                        }
                        (Some(_), AssignmentName::ArrayElementName(..)) => self.walk_word(word),
                        (None, _) => Arg::starting_with(&format!("{name}=")),
                    });
                }
            }
            Item::ProcessSubstitution(_, shell) => {
                self.walk_list(&shell.list, &Stdin::Other);
                argv.push(Arg::starting_with("/dev/fd/"));
            }
        }
    }

    /// Notes an assignment; answers with its variable, and its value if it is one word.
    fn walk_assignment(&mut self, assignment: &Assignment) -> (String, Option<Arg>) {
        self.assigns = true;
        let name = match &assignment.name {
            AssignmentName::VariableName(name) => name.clone(),
            AssignmentName::ArrayElementName(name, index) => {
                self.analyze_arithmetic(index);
                name.clone()
            }
        };
        let unknown = Arg::anything();
        match &assignment.value {
            AssignmentValue::Scalar(value) => {
                let value = self.walk_word(value);
                self.note_assignment(&name, &value);
                if assignment.append {
                    // What it has then was put together in pieces.
                    self.note_assignment(&name, &unknown);
                }
                let is_plain = matches!(assignment.name, AssignmentName::VariableName(_)) && !assignment.append;
                self.set_variable(&name, if is_plain { &value } else { &unknown });
                return (name, Some(value));
            }
            AssignmentValue::Array(values) => {
                for (index, value) in values {
                    if let Some(index) = index {
                        self.analyze_arithmetic(&index.value);
                    }
                    let value = self.walk_word(value);
                    self.note_assignment(&name, &value);
                }
            }
        }
        (name, None)
    }

    /// The input that a redirection gives to the command, if it does.
    fn walk_redirect(&mut self, redirect: &IoRedirect) -> Option<Stdin> {
        match redirect {
            IoRedirect::File(fd, kind, target) => {
                let reads = matches!(
                    kind,
                    IoFileRedirectKind::Read | IoFileRedirectKind::ReadAndWrite | IoFileRedirectKind::DuplicateInput
                );
                let writes = !matches!(kind, IoFileRedirectKind::Read | IoFileRedirectKind::DuplicateInput);
                match target {
                    IoFileRedirectTarget::Filename(word) => {
                        let arg = self.walk_word(word);
                        if writes {
                            self.note_write(arg);
                        }
                    }
                    IoFileRedirectTarget::Fd(_) => {}
                    IoFileRedirectTarget::ProcessSubstitution(_, shell) => {
                        // A shell in there reads what the command writes.
                        self.walk_list(&shell.list, &Stdin::Other);
                    }
                    IoFileRedirectTarget::Duplicate(word) => {
                        let arg = self.walk_word(word);
                        let is_number = |text: &str| text.trim_end_matches('-').chars().all(|c| c.is_ascii_digit());
                        if writes && !arg.text().is_some_and(is_number) {
                            self.note_write(arg);
                        }
                    }
                }
                (reads && fd.unwrap_or(0) == 0).then_some(Stdin::Other)
            }
            IoRedirect::HereDocument(fd, document) => {
                let text = if document.requires_expansion {
                    word_parser::parse_document(self, &document.doc.value).text().map(str::to_owned)
                } else {
                    Some(document.doc.value.clone())
                };
                (fd.unwrap_or(0) == 0).then(|| text.map_or(Stdin::Other, Stdin::Text))
            }
            IoRedirect::HereString(fd, word) => {
                let arg = self.walk_word(word);
                (fd.unwrap_or(0) == 0).then(|| arg.text().map_or(Stdin::Other, |text| Stdin::Text(text.to_owned())))
            }
            IoRedirect::OutputAndError(word, _) => {
                let arg = self.walk_word(word);
                self.note_write(arg);
                None
            }
        }
    }

    fn note_write(&mut self, arg: Arg) {
        self.note_written_file(&arg);
        self.writes.push(Write { path: arg, place: Rc::clone(&self.place) });
    }
}
