//! Programs that append words to a command and run it: `xargs` and `find`.

use super::arg::{Arg, Expansion};
use super::{ShellAnalysis, Stdin, listing};

impl ShellAnalysis {
    /// Analyzes the command that `xargs` runs with the lines of its input.
    pub(super) fn xargs(&mut self, argv: &[Arg], stdin: &Stdin) {
        let lines = match stdin {
            Stdin::Lines(lines) => Some(lines.clone()),
            _ => None,
        };
        let mut place = 1;
        let mut replaced = None;
        while let Some(arg) = argv.get(place) {
            let Some(text) = arg.text() else {
                self.note_unresolved("xargs runs an expansion");
                return;
            };
            if text == "--" {
                place += 1;
                break;
            }
            if !text.starts_with('-') || text == "-" {
                break;
            }
            place += 1;
            let value = |place: usize| argv.get(place).map(|value| value.text().unwrap_or_default().to_owned());
            if let Some(long) = text.strip_prefix("--") {
                if let Some((name, value)) = long.split_once('=') {
                    if name.starts_with("rep") {
                        replaced = Some(value.to_owned());
                    }
                } else if long.starts_with("rep") {
                    replaced = Some("{}".to_owned());
                } else if [
                    "arg-file", "delimiter", "max-args", "max-procs", "max-chars", "process-slot-var", "max-lines",
                ]
                .iter()
                .any(|known| known.starts_with(long))
                {
                    place += 1;
                }
                continue;
            }
            let chars: Vec<char> = text.chars().skip(1).collect();
            for (at, character) in chars.iter().enumerate() {
                let attached: String = chars.get(at + 1..).unwrap_or_default().iter().collect();
                match character {
                    'I' | 'J' | 'R' => {
                        replaced = if attached.is_empty() { value(place) } else { Some(attached.clone()) };
                        place += usize::from(attached.is_empty());
                        break;
                    }
                    'i' => {
                        replaced = Some(if attached.is_empty() { "{}".to_owned() } else { attached });
                        break;
                    }
                    'a' | 'd' | 'E' | 'L' | 'n' | 'P' | 's' | 'S' => {
                        place += usize::from(attached.is_empty());
                        break;
                    }
                    'e' | 'l' => break,
                    _ => {}
                }
            }
        }
        let rest = argv.get(place..).unwrap_or_default();
        if rest.is_empty() {
            return;
        }
        if !self.spend(rest.len() * lines.as_ref().map_or(1, Vec::len)) {
            return;
        }
        let mut inner: Vec<Arg> = rest
            .iter()
            .map(|arg| match arg.text() {
                Some(text) => {
                    let at = replaced
                        .iter()
                        .map(String::as_str)
                        .chain(["{}"])
                        .filter(|mark| !mark.is_empty())
                        .find_map(|mark| text.find(mark).map(|at| (at, mark)));
                    match (at, &lines) {
                        (None, _) => arg.clone(),
                        (Some((at, _)), None) => Arg::starting_with(text.get(..at).unwrap_or_default()),
                        (Some((_, mark)), Some(lines)) => {
                            Arg::one_of(lines.iter().map(|line| text.replace(mark, line)).collect(), Expansion::One)
                        }
                    }
                }
                None => arg.clone(),
            })
            .collect();
        if replaced.is_none() {
            inner.push(lines.map_or_else(Arg::anything, |lines| Arg::one_of(lines, Expansion::Many)));
        }
        self.analyze_child(inner, &Stdin::Other);
    }

    /// Analyzes the commands that `find` and `fd` run with the files that they find.
    pub(super) fn find(&mut self, name: &str, argv: &[Arg]) {
        let is_fd = name.starts_with("fd");
        let runs = |word: &str| {
            if is_fd {
                matches!(word, "-x" | "-X") || word.starts_with("--exec")
            } else {
                matches!(word, "-exec" | "-execdir" | "-ok" | "-okdir")
            }
        };
        // Backwards: the command of another `find` stands behind it, and is known when its turn comes.
        for (place, word) in argv.iter().enumerate().skip(1).rev() {
            if word.may_split() {
                self.note_unresolved("find runs an expansion");
            }
            if !word.text().is_some_and(runs) {
                continue;
            }
            if word.head().contains('=') {
                self.note_unresolved("find runs a command from an option");
            }
            let rest = argv.get(place + 1..).unwrap_or_default();
            let found = listing::of_command(argv.get(..place).unwrap_or_default(), None);
            if !self.spend(rest.len() * found.as_ref().map_or(1, Vec::len)) {
                return;
            }
            let inner: Vec<Arg> = rest
                .iter()
                .take_while(|word| !matches!(word.text(), Some(";")))
                .map(|word| match word.text().map(|text| (text, text.find('{'))) {
                    Some(("{}", _)) => match &found {
                        Some(found) => Arg::Unknown {
                            head: "./".to_owned(),
                            tail: String::new(),
                            form: Expansion::One,
                            words: Some(found.clone().into()),
                        },
                        None => Arg::starting_with("./"),
                    },
                    Some((_, Some(0))) => Arg::starting_with("./"),
                    Some((text, Some(at))) => Arg::starting_with(text.get(..at).unwrap_or_default()),
                    _ => word.clone(),
                })
                .collect();
            // A directory that is named like an option would be one.
            let odd = argv
                .iter()
                .skip(1)
                .take_while(|word| !word.head().starts_with('-'))
                .any(|word| word.text().is_none() && !word.head().starts_with(['/', '.']));
            if odd {
                let inner = inner
                    .iter()
                    .map(|word| if word.text().is_none() { Arg::anything() } else { word.clone() })
                    .collect();
                self.analyze_child(inner, &Stdin::Inherited);
                continue;
            }
            self.analyze_child(inner, &Stdin::Inherited);
        }
    }
}
