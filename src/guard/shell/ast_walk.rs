//! The walk over a parsed text.

use brush_parser::ast::{
    AndOr, Assignment, AssignmentName, AssignmentValue, Command, CommandPrefixOrSuffixItem as Item, CompoundCommand,
    CompoundList, ExtendedTestExpr, FunctionDefinition, IoFileRedirectKind, IoFileRedirectTarget, IoRedirect, Pipeline,
    SimpleCommand, Word,
};

use super::{Scan, Stdin, arg::Arg, word_parser};

impl Scan {
    pub(super) fn list(&mut self, list: &CompoundList, stdin: &Stdin) {
        for item in &list.0 {
            self.pipeline(&item.0.first, stdin);
            for more in &item.0.additional {
                let (AndOr::And(pipeline) | AndOr::Or(pipeline)) = more;
                self.pipeline(pipeline, stdin);
            }
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline, stdin: &Stdin) {
        for (place, command) in pipeline.seq.iter().enumerate() {
            self.any(command, if place == 0 { stdin } else { &Stdin::Other });
        }
    }

    fn any(&mut self, command: &Command, stdin: &Stdin) {
        match command {
            Command::Simple(simple) => self.simple(simple, stdin),
            Command::Compound(compound, redirects) => {
                let stdin = redirects
                    .iter()
                    .flat_map(|list| &list.0)
                    .fold(stdin.clone(), |stdin, redirect| self.redirect(redirect).unwrap_or(stdin));
                self.compound(compound, &stdin);
            }
            Command::Function(function) => self.function(function),
            Command::ExtendedTest(test, redirects) => {
                for redirect in redirects.iter().flat_map(|list| &list.0) {
                    self.redirect(redirect);
                }
                self.test(&test.expr);
            }
        }
    }

    fn compound(&mut self, compound: &CompoundCommand, stdin: &Stdin) {
        match compound {
            CompoundCommand::Arithmetic(arithmetic) => self.arithmetic(&arithmetic.expr.value),
            CompoundCommand::ArithmeticForClause(clause) => {
                for text in [&clause.initializer, &clause.condition, &clause.updater].into_iter().flatten() {
                    self.arithmetic(&text.value);
                }
                self.list(&clause.body.list, stdin);
            }
            CompoundCommand::BraceGroup(group) => self.list(&group.list, stdin),
            CompoundCommand::Subshell(shell) => self.list(&shell.list, stdin),
            CompoundCommand::ForClause(clause) => {
                for value in clause.values.iter().flatten() {
                    self.word(value);
                }
                self.list(&clause.body.list, stdin);
            }
            CompoundCommand::CaseClause(clause) => {
                self.word(&clause.value);
                for case in &clause.cases {
                    for pattern in &case.patterns {
                        self.word(pattern);
                    }
                    if let Some(list) = &case.cmd {
                        self.list(list, stdin);
                    }
                }
            }
            CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition, stdin);
                self.list(&clause.then, stdin);
                for other in clause.elses.iter().flatten() {
                    if let Some(condition) = &other.condition {
                        self.list(condition, stdin);
                    }
                    self.list(&other.body, stdin);
                }
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.list(&clause.0, stdin);
                self.list(&clause.1.list, stdin);
            }
            CompoundCommand::Coprocess(process) => {
                if let Some(name) = &process.name {
                    self.word(name);
                }
                self.any(&process.body, &Stdin::Other);
            }
        }
    }

    fn function(&mut self, function: &FunctionDefinition) {
        self.within += 1;
        // Whoever calls it gives it its input.
        let stdin = function
            .body
            .1
            .iter()
            .flat_map(|list| &list.0)
            .fold(Stdin::Other, |stdin, redirect| self.redirect(redirect).unwrap_or(stdin));
        self.compound(&function.body.0, &stdin);
        self.within -= 1;
    }

    fn test(&mut self, test: &ExtendedTestExpr) {
        match test {
            ExtendedTestExpr::And(left, right) | ExtendedTestExpr::Or(left, right) => {
                self.test(left);
                self.test(right);
            }
            ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => self.test(inner),
            ExtendedTestExpr::UnaryTest(_, word) => {
                let arg = self.word(word);
                self.later(&arg);
            }
            ExtendedTestExpr::BinaryTest(_, left, right) => {
                for word in [left, right] {
                    let arg = self.word(word);
                    self.later(&arg);
                }
            }
        }
    }

    fn word(&mut self, word: &Word) -> Arg {
        word_parser::word(self, &word.value)
    }

    fn simple(&mut self, command: &SimpleCommand, stdin: &Stdin) {
        let mut stdin = stdin.clone();
        let mut argv = Vec::new();
        let prefix = command.prefix.iter().flat_map(|prefix| &prefix.0);
        let suffix = command.suffix.iter().flat_map(|suffix| &suffix.0);
        let mut assigned = false;
        for item in prefix {
            assigned |= matches!(item, Item::AssignmentWord(..));
            self.item(item, &mut argv, &mut stdin, true);
        }
        if let Some(word) = &command.word_or_name {
            argv.push(self.word(word));
        }
        for item in suffix {
            self.item(item, &mut argv, &mut stdin, false);
        }
        if assigned && !argv.is_empty() {
            // What it sets changes what the command does: nobody has allowed that by name.
            self.within += 1;
            self.command(argv, &stdin);
            self.within -= 1;
        } else {
            self.command(argv, &stdin);
        }
    }

    fn item(&mut self, item: &Item, argv: &mut Vec<Arg>, stdin: &mut Stdin, is_prefix: bool) {
        match item {
            Item::Word(word) => {
                let arg = self.word(word);
                argv.push(arg);
            }
            Item::IoRedirect(redirect) => {
                if let Some(other) = self.redirect(redirect) {
                    *stdin = other;
                }
            }
            Item::AssignmentWord(assignment, word) => {
                let name = self.assigned(assignment);
                if !is_prefix {
                    argv.push(match &assignment.value {
                        AssignmentValue::Scalar(_) => self.word(word),
                        AssignmentValue::Array(_) => Arg::one(&format!("{name}=")),
                    });
                }
            }
            Item::ProcessSubstitution(_, shell) => {
                self.list(&shell.list, &Stdin::Other);
                argv.push(Arg::one("/dev/fd/"));
            }
        }
    }

    fn assigned(&mut self, assignment: &Assignment) -> String {
        self.assigns = true;
        let name = match &assignment.name {
            AssignmentName::VariableName(name) => name.clone(),
            AssignmentName::ArrayElementName(name, index) => {
                self.arithmetic(index);
                name.clone()
            }
        };
        match &assignment.value {
            AssignmentValue::Scalar(value) => {
                let value = self.word(value);
                self.assign(&name, &value);
            }
            AssignmentValue::Array(values) => {
                for (index, value) in values {
                    if let Some(index) = index {
                        self.arithmetic(&index.value);
                    }
                    let value = self.word(value);
                    self.assign(&name, &value);
                }
            }
        }
        name
    }

    /// What a redirection reads, when it gives the command its input.
    fn redirect(&mut self, redirect: &IoRedirect) -> Option<Stdin> {
        match redirect {
            IoRedirect::File(fd, kind, target) => {
                let reads = matches!(
                    kind,
                    IoFileRedirectKind::Read | IoFileRedirectKind::ReadAndWrite | IoFileRedirectKind::DuplicateInput
                );
                let writes = !matches!(kind, IoFileRedirectKind::Read | IoFileRedirectKind::DuplicateInput);
                match target {
                    IoFileRedirectTarget::Filename(word) => {
                        let arg = self.word(word);
                        if writes {
                            self.write_to(arg);
                        }
                    }
                    IoFileRedirectTarget::Fd(_) => {}
                    IoFileRedirectTarget::ProcessSubstitution(_, shell) => {
                        // A shell in there reads what the command writes.
                        self.list(&shell.list, &Stdin::Other);
                    }
                    IoFileRedirectTarget::Duplicate(word) => {
                        let arg = self.word(word);
                        let is_number = |text: &str| text.trim_end_matches('-').chars().all(|c| c.is_ascii_digit());
                        if writes && !arg.text().is_some_and(is_number) {
                            self.write_to(arg);
                        }
                    }
                }
                (reads && fd.unwrap_or(0) == 0).then_some(Stdin::Other)
            }
            IoRedirect::HereDocument(fd, document) => {
                let text = if document.requires_expansion {
                    word_parser::document(self, &document.doc.value).text().map(str::to_owned)
                } else {
                    Some(document.doc.value.clone())
                };
                (fd.unwrap_or(0) == 0).then(|| text.map_or(Stdin::Other, Stdin::Text))
            }
            IoRedirect::HereString(fd, word) => {
                let arg = self.word(word);
                (fd.unwrap_or(0) == 0).then(|| arg.text().map_or(Stdin::Other, |text| Stdin::Text(text.to_owned())))
            }
            IoRedirect::OutputAndError(word, _) => {
                let arg = self.word(word);
                self.write_to(arg);
                None
            }
        }
    }

    fn write_to(&mut self, arg: Arg) {
        self.wrote(&arg);
        self.writes.push(arg);
    }
}
