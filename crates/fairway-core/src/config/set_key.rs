//! A change of one key in the text of a configuration file. Comments and every other line stay.

use toml::{Table, Value};

/// Sets `section.key` in the text of a configuration file, or removes it when `value` is `None`. Returns `None` when the text is
/// written in a form that cannot be changed in one line.
pub fn set_key(text: &str, section: &str, key: &str, value: Option<&str>) -> Option<String> {
    let line = value.map(|value| format!("{key} = {}", Value::String(value.to_owned())));
    let heading = format!("[{section}]");
    let is_heading = |line: &str| line.split('#').next().is_some_and(|part| part.trim() == heading);
    let names_key = |line: &str| line.split_once('=').is_some_and(|(name, _)| name.trim() == key);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if let Some(start) = lines.iter().position(|line| is_heading(line)) {
        let inside = lines.iter().skip(start + 1).take_while(|line| !line.trim_start().starts_with('['));
        let found = inside.enumerate().find(|(_, line)| names_key(line)).map(|(at, _)| start + 1 + at);
        match (found, line) {
            (Some(at), Some(line)) => *lines.get_mut(at)? = line,
            (Some(at), None) => drop(lines.remove(at)),
            (None, Some(line)) => lines.insert(start + 1, line),
            (None, None) => {}
        }
    } else if let Some(line) = line {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend([heading, line]);
    }
    let changed = if lines.is_empty() { String::new() } else { lines.join("\n") + "\n" };
    let set = |text: &str| -> Option<Table> { text.parse::<Table>().ok() };
    let mut wanted = set(text)?;
    match value {
        Some(value) => {
            let section = wanted.entry(section).or_insert_with(|| Value::Table(Table::new())).as_table_mut()?;
            section.insert(key.to_owned(), Value::String(value.to_owned()));
        }
        None => {
            if let Some(section) = wanted.get_mut(section).and_then(Value::as_table_mut) {
                section.remove(key);
            }
        }
    }
    (set(&changed)? == wanted).then_some(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_key_changes_and_the_other_lines_stay() {
        let set = |text, value| set_key(text, "store", "engine", value);
        for (before, value, after) in [
            ("", Some("postgres"), Some("[store]\nengine = \"postgres\"\n")),
            (
                "# mine\n[tasks]\nprefix = 'A'\n",
                Some("x"),
                Some("# mine\n[tasks]\nprefix = 'A'\n\n[store]\nengine = \"x\"\n"),
            ),
            (
                "[store] # where\n# it\nengine = 'a' # b\n[tasks]\n",
                Some("x"),
                Some("[store] # where\n# it\nengine = \"x\"\n[tasks]\n"),
            ),
            ("[store]\n[tasks]\nengine = 1\n", Some("x"), Some("[store]\nengine = \"x\"\n[tasks]\nengine = 1\n")),
            ("[store]\nurl = 'u'\nengine = 'a'\n", None, Some("[store]\nurl = 'u'\n")),
            ("[tasks]\n", None, Some("[tasks]\n")),
            // Forms that are left to a person.
            ("store.engine = 'a'\n", Some("x"), None),
            ("store = { engine = 'a' }\n", Some("x"), None),
            ("[store]\nengine = '''a\nb'''\n", Some("x"), None),
            ("no toml", Some("x"), None),
        ] {
            assert_eq!(set(before, value).as_deref(), after, "{before:?}");
        }
    }
}
