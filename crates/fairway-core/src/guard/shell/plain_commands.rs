//! Texts that are lists of plain commands: no pipes, redirections, assignments, expansions or compound commands.

use brush_parser::ast::{
    AndOr, AssignmentValue, Command, CommandPrefixOrSuffixItem as Item, CompoundList, Pipeline, SeparatorOperator,
};

use super::{ShellAnalysis, word_parser};

/// The words of each command of a text; `None` if it is anything but a list of plain commands.
pub(in crate::guard) fn plain_commands(text: &str) -> Option<Vec<Vec<String>>> {
    let mut scan = ShellAnalysis::default();
    let program = scan.parse(text)?;
    let mut commands = Vec::new();
    for list in &program.complete_commands {
        walk_list(&mut scan, list, &mut commands)?;
    }
    scan.unresolved.is_empty().then_some(commands)
}

fn walk_list(scan: &mut ShellAnalysis, list: &CompoundList, commands: &mut Vec<Vec<String>>) -> Option<()> {
    for item in &list.0 {
        if !matches!(item.1, SeparatorOperator::Sequence) {
            return None;
        }
        commands.push(words(scan, &item.0.first)?);
        for more in &item.0.additional {
            let (AndOr::And(pipeline) | AndOr::Or(pipeline)) = more;
            commands.push(words(scan, pipeline)?);
        }
    }
    Some(())
}

fn words(scan: &mut ShellAnalysis, pipeline: &Pipeline) -> Option<Vec<String>> {
    let [Command::Simple(command)] = pipeline.seq.as_slice() else { return None };
    if pipeline.bang || pipeline.timed.is_some() || command.prefix.as_ref().is_some_and(|prefix| !prefix.0.is_empty()) {
        return None;
    }
    let mut raw = vec![command.word_or_name.as_ref()?];
    for item in command.suffix.iter().flat_map(|suffix| &suffix.0) {
        match item {
            Item::Word(word) => raw.push(word),
            // Behind a program it is a word like any other.
            Item::AssignmentWord(assignment, word) if matches!(assignment.value, AssignmentValue::Scalar(_)) => {
                raw.push(word);
            }
            _ => return None,
        }
    }
    raw.into_iter().map(|word| word_parser::parse_word(scan, &word.value).text().map(str::to_owned)).collect()
}
