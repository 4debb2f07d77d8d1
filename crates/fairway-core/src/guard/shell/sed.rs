//! The stream editor: a script of it may run commands and write files.

use std::rc::Rc;

use super::arg::Arg;
use super::{ShellAnalysis, Write};

impl ShellAnalysis {
    /// Analyzes a call of `sed`, whose scripts may run commands and write files.
    pub(super) fn analyze_sed(&mut self, argv: &[Arg]) {
        let mut scripts: Vec<Arg> = Vec::new();
        let (mut place, mut has_script, mut is_sandboxed) = (1, false, false);
        let mut plain: Vec<Arg> = Vec::new();
        while let Some(arg) = argv.get(place) {
            place += 1;
            let Some(text) = arg.text() else {
                plain.push(arg.clone());
                continue;
            };
            if text == "--" {
                plain.extend(argv.get(place..).unwrap_or_default().iter().cloned());
                break;
            }
            if let Some(long) = text.strip_prefix("--") {
                let (option, value) =
                    long.split_once('=').map_or((long, None), |(option, value)| (option, Some(value)));
                is_sandboxed |= option == "sandbox";
                if !option.is_empty() && "expression".starts_with(option) {
                    has_script = true;
                    scripts.push(value.map_or_else(|| argv.get(place).cloned().unwrap_or(Arg::known("")), Arg::known));
                    place += usize::from(value.is_none());
                } else if !option.is_empty() && "file".starts_with(option) {
                    has_script = true;
                    let file = value.map_or_else(|| argv.get(place).cloned().unwrap_or(Arg::known("")), Arg::known);
                    if file.head() == "-" {
                        self.note_unresolved("sed reads its program from another source");
                    }
                    self.note_run_file(&file);
                    place += usize::from(value.is_none());
                } else if option == "line-length" && value.is_none() {
                    place += 1;
                }
                continue;
            }
            if !text.starts_with('-') || text == "-" {
                plain.push(arg.clone());
                continue;
            }
            let chars: Vec<char> = text.chars().skip(1).collect();
            for (at, character) in chars.iter().enumerate() {
                let attached: String = chars.get(at + 1..).unwrap_or_default().iter().collect();
                let value =
                    if attached.is_empty() { argv.get(place).cloned() } else { Some(Arg::known(attached.clone())) };
                match character {
                    'e' | 'f' | 'l' => {
                        place += usize::from(attached.is_empty());
                        let value = value.unwrap_or(Arg::known(""));
                        has_script |= *character != 'l';
                        match character {
                            'e' => scripts.push(value),
                            'f' => {
                                if value.head() == "-" {
                                    self.note_unresolved("sed reads its program from another source");
                                }
                                self.note_run_file(&value);
                            }
                            _ => {}
                        }
                        break;
                    }
                    'i' => break,
                    _ => {}
                }
            }
        }
        if !has_script {
            scripts.extend(plain.first().cloned());
        }
        if plain.iter().any(|word| word.may_split() && plain.first() != Some(word)) && !has_script {
            // It may bring another script.
            self.note_unresolved("sed runs an expansion");
        }
        if is_sandboxed {
            return;
        }
        for script in scripts {
            match script.text() {
                Some(text) => {
                    // `w FILE`, or `w` as a flag
                    let words: Vec<&str> = text.split([' ', '\n']).collect();
                    for pair in words.windows(2) {
                        if let [before, file] = pair
                            && before.ends_with(['w', 'W'])
                        {
                            self.note_written_file(&Arg::known(*file));
                        }
                        if let [before, file] = pair
                            && before.ends_with(['w', 'W'])
                            && file.starts_with(['/', '.', '~'])
                        {
                            self.writes.push(Write { path: Arg::known(*file), place: Rc::clone(&self.place) });
                        }
                    }
                    if script_runs_command(text) {
                        self.note_unresolved("a script of sed runs a command");
                    }
                }
                None => self.note_unresolved("sed runs an expansion"),
            }
        }
    }
}

/// Whether a script of sed runs a command: `e`, or `s///e`. A script that cannot be parsed counts as one that does.
fn script_runs_command(script: &str) -> bool {
    let chars: Vec<char> = script.chars().collect();
    let mut at = 0;
    let peek = |at: usize| chars.get(at).copied();
    let skip = |mut at: usize, delimiter: char| {
        // Behind the next delimiter that is not escaped nor in brackets.
        let mut bracket = false;
        while let Some(character) = chars.get(at).copied() {
            at += 1;
            match character {
                '\\' => at += 1,
                '[' if !bracket => {
                    bracket = true;
                    if chars.get(at) == Some(&'^') {
                        at += 1;
                    }
                    if chars.get(at) == Some(&']') {
                        at += 1;
                    }
                }
                ']' if bracket => bracket = false,
                // Not every version looks for brackets here: what differs is not worked out.
                character if character == delimiter && bracket => return None,
                character if character == delimiter => return Some(at),
                _ => {}
            }
        }
        None
    };
    while let Some(character) = peek(at) {
        at += 1;
        match character {
            ' ' | '\t' | '\n' | ';' | '{' | '}' | '!' | ',' | '~' | '+' | '$' | '0'..='9' => {}
            '#' => {
                while peek(at).is_some_and(|character| character != '\n') {
                    at += 1;
                }
            }
            '/' | '\\' => {
                let delimiter = if character == '/' {
                    '/'
                } else {
                    at += 1;
                    match peek(at - 1) {
                        Some(delimiter) => delimiter,
                        None => return true,
                    }
                };
                match skip(at, delimiter) {
                    Some(after) => at = after,
                    None => return true,
                }
                while peek(at).is_some_and(|character| matches!(character, 'I' | 'M')) {
                    at += 1;
                }
            }
            's' | 'y' => {
                let Some(delimiter) = peek(at) else { return true };
                let Some(middle) = skip(at + 1, delimiter) else { return true };
                // The replacement has no brackets of its own.
                let mut end = middle;
                loop {
                    match peek(end) {
                        None => return true,
                        Some('\\') => end += 2,
                        Some(character) if character == delimiter => break,
                        Some(_) => end += 1,
                    }
                }
                at = end + 1;
                while let Some(flag) = peek(at) {
                    match flag {
                        'e' => return true,
                        'g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9' => at += 1,
                        'w' => {
                            while peek(at).is_some_and(|character| character != '\n') {
                                at += 1;
                            }
                        }
                        _ => break,
                    }
                }
            }
            'a' | 'i' | 'c' => {
                // The text goes on behind a backslash at the line's end.
                while let Some(character) = peek(at) {
                    at += 1;
                    match character {
                        '\\' => at += 1,
                        '\n' => break,
                        _ => {}
                    }
                }
            }
            'r' | 'R' | 'w' | 'W' => {
                while peek(at).is_some_and(|character| character != '\n') {
                    at += 1;
                }
            }
            'b' | 't' | 'T' | ':' | 'v' => {
                // A label ends at a blank, at least for one of them.
                while peek(at).is_some_and(|character| matches!(character, ' ' | '\t')) {
                    at += 1;
                }
                while peek(at).is_some_and(|character| !matches!(character, '\n' | ';' | '}' | ' ' | '\t')) {
                    at += 1;
                }
            }
            'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'q' | 'Q' | 'x' | 'l' | 'L' | '=' | 'z'
            | 'F' => {}
            _ => return true,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_of_sed_that_run_commands_are_told_from_others() {
        for script in [
            "1e git push -f", "e", "s/a/b/e", "s/.*/git push/ge", "s|a|b|e", "/x/e ls", "p;e ls", "{e\n}", "s/a/b",
            "$!{e ls\n}", "1~2e", "s/x/y/;1e z",
        ] {
            assert!(script_runs_command(script), "{script}");
        }
        for script in [
            "s/a/b/g", "1,20p", "/re/d", "$d", "s/[/]x/y/;p", "a\\ text e", "/a/,/b/{s/e/f/;p}", "y/abc/def/", "2q",
            "s/a/e/", ":a;N;$!ba;s/\\n/ /g", "/^$/d", "s#a/b#c/e#g", "r e",
        ] {
            // A delimiter in brackets is read differently by different versions.
            assert_eq!(script_runs_command(script), script.contains("[/]"), "{script}");
        }
    }
}
