//! Code of other languages in a command's arguments. It is not parsed: anything in it that could start a program makes the text
//! unresolved.

use std::rc::Rc;

use super::arg::{Arg, base_name};
use super::languages::{COMMON_SIGNS, Language, language};
use super::{ShellAnalysis, Stdin, Write};

/// Modules of Python that run what their words say.
const RUNNER_MODULES: &[&str] =
    &["timeit", "pdb", "code", "runpy", "trace", "cProfile", "profile", "idlelib", "IPython", "pty", "this_is_none"];

/// Whether a program of this name runs code of a language other than the shell's, such as `python`, `awk` or `sed`.
pub(in crate::guard) fn is_interpreter(name: &str) -> bool {
    language(name).is_some() || matches!(name, "sed" | "gsed" | "ssed")
}

impl ShellAnalysis {
    /// Analyzes the call of an interpreter: code among its arguments, the file that it runs, or its input.
    pub(super) fn interpreter(&mut self, name: &str, argv: &[Arg], stdin: &Stdin) {
        if matches!(name, "sed" | "gsed" | "ssed") {
            return self.analyze_sed(argv);
        }
        let Some(language) = language(name) else { return };
        let is_awk = language.names.contains(&"awk");
        let is_node = language.names.contains(&"node");
        let (mut place, mut has_text, mut has_file, mut has_task) = (1, false, false, false);
        while let Some(arg) = argv.get(place) {
            let Some(text) = arg.text() else {
                // A file of the worktree, as `git ls-files` prints it, is taken for a file.
                let is_file = || arg.candidates().is_some_and(|words| words.iter().all(|word| word.starts_with('*')));
                if arg.may_be_option() && !is_file() {
                    self.note_unresolved(&format!("{name} runs an expansion"));
                    return;
                }
                break;
            };
            place += 1;
            if text == "--" {
                break;
            }
            if text == "-" || !text.starts_with('-') && !text.starts_with('+') {
                place -= 1;
                break;
            }
            if let Some(long) = text.strip_prefix("--") {
                let (option, value) =
                    long.split_once('=').map_or((long, None), |(option, value)| (option, Some(value)));
                if matches!(option, "version" | "help") {
                    return;
                }
                if is_node && matches!(option, "test" | "run") {
                    has_task = true;
                    self.files.runs_tests_of_node |= option == "test";
                    self.files.executed.insert("package.json".to_owned());
                }
                if matches!(option, "require" | "import" | "loader") {
                    let file = value.map(Arg::known).or_else(|| argv.get(place).cloned());
                    if let Some(file) = file {
                        self.note_run_file(&file);
                    }
                }
                if option.len() > 1 && language.long.iter().any(|known| known.starts_with(option)) {
                    has_text = true;
                    match value {
                        Some(value) => self.analyze_code(language, name, &Arg::known(value)),
                        None => {
                            self.analyze_code(language, name, argv.get(place).unwrap_or(&Arg::known("")));
                            place += 1;
                        }
                    }
                }
                continue;
            }
            let chars: Vec<char> = text.chars().skip(1).collect();
            if matches!(chars.as_slice(), ['V' | 'v' | 'h']) && !is_awk {
                return;
            }
            for (at, character) in chars.iter().enumerate() {
                let attached: String = chars.get(at + 1..).unwrap_or_default().iter().collect();
                // `-fno-code`
                let is_word = name == "ghc" && chars.len() > 1;
                if language.text.contains(*character) && !is_word {
                    has_text = true;
                    if attached.is_empty() || language.names.contains(&"node") {
                        self.analyze_code(language, name, argv.get(place).unwrap_or(&Arg::known("")));
                        place += 1;
                    } else {
                        self.analyze_code(language, name, &Arg::known(attached));
                    }
                    break;
                }
                if *character == 'm' && language.names.contains(&"python") {
                    let module =
                        if attached.is_empty() { argv.get(place).cloned() } else { Some(Arg::known(&attached)) };
                    let module = module.as_ref().and_then(Arg::text);
                    let file = module.and_then(|module| module.rsplit('.').next());
                    self.files.executed.extend(file.map(|file| format!("{file}.py")));
                    self.files.executed.insert("__main__.py".to_owned());
                    let rest = argv.get(place + 1..).unwrap_or_default();
                    if module == Some("timeit") && attached.is_empty() {
                        self.analyze_timed(language, name, rest);
                    } else if matches!(module, Some("cProfile" | "profile")) && attached.is_empty() {
                        self.analyze_profiled(name, rest);
                    } else if module.is_none_or(|module| RUNNER_MODULES.contains(&module)) {
                        self.note_unresolved(&format!("cannot determine what {name} runs"));
                    }
                    // A module that is called with the words behind it may run them.
                    self.wrapper_depth += 1;
                    self.add_command(argv.get(place + 1..).unwrap_or_default().to_vec(), true);
                    self.wrapper_depth -= 1;
                    return;
                }
                if matches!(character, 'M' | 'm' | 'd' | 'D') && language.names.contains(&"perl") {
                    let module = attached.trim_start_matches('-').split("::").last().unwrap_or_default();
                    self.files.executed.insert(format!("{module}.pm"));
                    if attached.contains([';', '(', '=', '\'', '"', ' ']) || matches!(character, 'd' | 'D') {
                        self.note_unresolved(&format!("cannot determine what {name} runs"));
                    }
                    break;
                }
                // The suffix of copies, the form of records.
                if matches!(character, 'i' | 'F' | 'x' | 'I' | 'C' | 'l') && language.names.contains(&"perl") {
                    if *character != 'l' {
                        break;
                    }
                    continue;
                }
                if *character == 'i' && language.names.contains(&"python") {
                    self.note_unresolved(&format!("{name} reads its program from another source"));
                }
                if language.valued.contains(*character) {
                    let value =
                        if attached.is_empty() { argv.get(place).cloned() } else { Some(Arg::known(attached.clone())) };
                    if is_awk && matches!(character, 'f' | 'i' | 'l') {
                        has_file = true;
                        if let Some(file) = &value {
                            if file.head() == "-" {
                                self.note_unresolved(&format!("{name} reads its program from another source"));
                            }
                            self.note_run_file(file);
                        }
                    } else if language.names.contains(&"node")
                        && value.as_ref().is_some_and(|file| file.head().contains('/'))
                    {
                        if let Some(file) = &value {
                            self.note_run_file(file);
                        }
                    } else if value
                        .as_ref()
                        .is_some_and(|value| value.head().starts_with("data:") || !value.is_single_word())
                    {
                        self.note_unresolved(&format!("cannot determine what {name} runs"));
                    }
                    place += usize::from(attached.is_empty());
                    break;
                }
            }
        }
        if language.names.contains(&"perl") {
            let opens = |arg: &&Arg| {
                arg.text().is_some_and(|text| text.trim().starts_with(['|', '>']) || text.trim().ends_with('|'))
            };
            if argv.get(place..).unwrap_or_default().iter().any(|arg| opens(&arg)) {
                self.note_unresolved("perl runs the name of a file");
            }
        }
        if language.names.contains(&"python") {
            for file in ["sitecustomize.py", "usercustomize.py", "__main__.py"] {
                self.files.executed.insert(file.to_owned());
            }
        }
        if has_text {
            return;
        }
        let file = argv.get(place);
        if is_awk && !has_file {
            if let Some(text) = file {
                self.analyze_code(language, name, &text.clone());
            }
            return;
        }
        if has_file {
            return;
        }
        match file {
            Some(arg) if matches!(arg.text(), Some("eval")) && language.names.contains(&"node") => {
                self.analyze_code(language, name, argv.get(place + 1).unwrap_or(&Arg::known("")));
            }
            Some(arg) if arg.text() != Some("-") => {
                self.note_run_file(arg);
                if language.names.contains(&"node") {
                    let name = base_name(arg.head()).to_owned();
                    let others = ["js", "mjs", "cjs", "ts"].map(|end| format!("{name}.{end}"));
                    self.files.executed.extend(others);
                    self.files.executed.insert("index.js".to_owned());
                }
                // `bun x`, `deno run`: the words behind may be a command.
                self.wrapper_depth += 1;
                self.add_command(argv.get(place..).unwrap_or_default().to_vec(), true);
                self.wrapper_depth -= 1;
            }
            _ if has_task => {}
            _ => match stdin {
                Stdin::Text(text) => self.analyze_code(language, name, &Arg::known(text.clone())),
                Stdin::Inherited | Stdin::Lines(_) | Stdin::Other => {
                    self.note_unresolved(&format!("{name} reads its program from another source"));
                }
            },
        }
    }

    /// Analyzes the words of `python -m timeit`: each is code.
    fn analyze_timed(&mut self, language: &Language, name: &str, words: &[Arg]) {
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.text() {
                Some("-n" | "-r" | "-u" | "--number" | "--repeat" | "--unit") => drop(words.next()),
                Some("-s" | "-v" | "-p" | "--setup" | "--verbose" | "--process") => {}
                _ => self.analyze_code(language, name, word),
            }
        }
    }

    /// Analyzes the words of `python -m cProfile`: the file behind its options runs.
    fn analyze_profiled(&mut self, name: &str, words: &[Arg]) {
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.text() {
                Some("-o" | "-s") => drop(words.next()),
                Some(file) if !file.starts_with('-') => return self.note_run_file(word),
                _ => break,
            }
        }
        self.note_unresolved(&format!("cannot determine what {name} runs"));
    }

    fn analyze_code(&mut self, language: &Language, name: &str, arg: &Arg) {
        let Some(text) = arg.text() else {
            self.note_unresolved(&format!("{name} runs an expansion"));
            return;
        };
        let text = text.to_owned();
        if !self.spend(8 + text.len()) {
            return;
        }
        self.analyze_maybe(&text);
        for path in outside_paths(&text) {
            self.writes.push(Write { path: Arg::known(path), place: Rc::clone(&self.place) });
        }
        let is_awk = language.names.contains(&"awk");
        if is_awk && text.contains('>') {
            // `print > "FILE"`
            text.split('"').skip(1).step_by(2).for_each(|file| self.note_written_file(&Arg::known(file)));
        }
        if language.names.contains(&"python") {
            // A file beside it goes before the module of that name.
            let imports = text
                .split(['\n', ';'])
                .map(str::trim)
                .filter(|line| line.starts_with("import ") || line.starts_with("from "));
            for name in imports.flat_map(|line| line.split([' ', ',', '.'])).filter(|name| !name.is_empty()) {
                self.files.executed.insert(format!("{name}.py"));
            }
            if text.contains("open(") || text.contains("write") {
                text.split(['\'', '"']).skip(1).step_by(2).for_each(|file| {
                    self.note_written_file(&Arg::known(file));
                });
            }
        }
        let any = if is_awk { &["system"][..] } else { COMMON_SIGNS };
        // Names that are no more than they say.
        let mut text = text.replace("re.compile(", "").replace(".execute(", "");
        for name in ["__version__", "__name__", "__file__", "__doc__"] {
            text = text.replace(name, "");
        }
        let sign = any.iter().chain(language.signs).find(|sign| text.contains(**sign));
        if let Some(sign) = sign {
            self.note_unresolved(&format!("a program of {name} may start others: it has '{sign}'"));
        } else if text.chars().any(|character| !character.is_ascii() && character.is_alphanumeric())
            && !is_awk
            && has_foreign_names(&text)
        {
            self.note_unresolved(&format!("a program of {name} has chars that may be others"));
        } else if is_awk && awk_has_pipe(&text) {
            self.note_unresolved(&format!("a program of {name} may start others: it has a pipe"));
        } else if language.names.contains(&"node") && node_loads_unsafe(&text) {
            self.note_unresolved(&format!("a program of {name} may start others: it loads a module"));
        } else if language.names.contains(&"perl") && perl_evaluates(&text) {
            self.note_unresolved(&format!("a program of {name} may start others: it evaluates a text"));
        } else if language.names.contains(&"python") && python_imports_unsafe(&text) {
            self.note_unresolved(&format!("a program of {name} may start others: it loads a module"));
        }
    }
}

/// How programs name the home directory.
const HOME_SIGNS: &[&str] = &[".home()", "expanduser", "homedir()", "Dir.home", "'HOME'", "\"HOME\"", "env.HOME"];

/// Paths that lead away from where a program runs, and stand in one that may write to them.
fn outside_paths(text: &str) -> Vec<String> {
    const SIGNS: &[&str] = &[
        "write", "'w", "\"w", "'a'", "\"a\"", "'x", "\"x", "r+", "remove", "unlink", "rename", "mkdir", "makedirs",
        "copy", "move", "rmtree", "symlink", "link", "chmod", "chown", "touch", "put_contents", "truncate", "save",
        "dump", "rm(", "rmSync", "cpSync", "delete", "FileUtils", "open(F", ">",
    ];
    let signs = || SIGNS.iter().filter(|sign| text.contains(**sign));
    if signs().next().is_none() {
        return Vec::new();
    }
    let away = |word: &&str| {
        let leads = word.starts_with("../") || *word == ".." || word.starts_with('~') || word.contains("/../");
        leads || word.len() > 1 && word.starts_with('/') && !word.contains([' ', '\n', '(', ')', '\\'])
    };
    let home = HOME_SIGNS.iter().any(|sign| text.contains(sign)) && signs().any(|sign| *sign != ">");
    let home = home.then(|| "~".to_owned());
    text.split(['\'', '"', '`']).filter(away).map(str::to_owned).chain(home).collect()
}

/// Whether words outside of quotes have characters beyond ASCII: some languages read them as others.
fn has_foreign_names(text: &str) -> bool {
    let mut quote = None;
    for character in text.chars() {
        match (quote, character) {
            (Some(open), character) if character == open => quote = None,
            (None, '\'' | '"') => quote = Some(character),
            (None, character) if !character.is_ascii() && character.is_alphanumeric() => return true,
            _ => {}
        }
    }
    false
}

/// Whether a program of awk has a pipe that is no part of a pattern.
fn awk_has_pipe(text: &str) -> bool {
    let first_print = text.find("print");
    let mut last = None;
    text.char_indices().any(|(at, character)| {
        let before_last = last;
        if !character.is_whitespace() {
            last = Some(character);
        }
        let rest = text.get(at + character.len_utf8()..).unwrap_or_default();
        character == '|'
            && !rest.starts_with('|')
            && !text.get(..at).unwrap_or_default().ends_with('|')
            && (first_print.is_some_and(|print| print < at)
                || rest.trim_start().starts_with(['"', '(', '$', '&'])
                || before_last == Some('"'))
    })
}

/// Whether a program of node loads a module that it does not name, or one that starts programs.
fn node_loads_unsafe(text: &str) -> bool {
    const PLAIN: &[&str] = &[
        "fs", "path", "os", "util", "url", "crypto", "assert", "zlib", "http", "https", "events", "querystring",
        "perf_hooks",
    ];
    let names = |name: &str| {
        PLAIN.contains(&name.trim_start_matches("node:"))
            || name.starts_with("./") && name.rsplit('.').next() == Some("json")
            || name.ends_with("package.json")
    };
    let loads = text.match_indices("require").any(|(at, _)| {
        let rest = text.get(at + "require".len()..).unwrap_or_default().trim_start();
        let Some(rest) = rest.strip_prefix('(').map(str::trim_start) else { return !rest.starts_with(".resolve(") };
        let Some(quote) = rest.chars().next().filter(|character| matches!(character, '\'' | '"')) else { return true };
        let Some((name, after)) = rest.get(1..).and_then(|rest| rest.split_once(quote)) else { return true };
        !names(name) || !after.trim_start().starts_with(')')
    });
    loads
        || text.split(';').any(|part| {
            let part = part.trim_start();
            part.starts_with("import ") && !part.split(['\'', '"']).nth(1).is_some_and(names)
        })
}

/// Whether a program of perl evaluates what it replaces twice.
fn perl_evaluates(text: &str) -> bool {
    let is_flag = |character: char| {
        matches!(character, 'g' | 'i' | 'm' | 's' | 'x' | 'o' | 'r' | 'e' | 'a' | 'd' | 'l' | 'u' | 'p' | 'n' | 'c')
    };
    let mut before = ' ';
    let mut flags = String::new();
    for character in text.chars().chain([' ']) {
        if is_flag(character) {
            flags.push(character);
            continue;
        }
        if before.is_ascii_punctuation() && flags.contains("ee") {
            return true;
        }
        flags.clear();
        before = character;
    }
    false
}

/// Whether a program of python loads a module that is not known to be harmless.
fn python_imports_unsafe(text: &str) -> bool {
    const PLAIN: &[&str] = &[
        "json", "sys", "os", "re", "math", "time", "datetime", "pathlib", "collections", "itertools", "functools",
        "random", "string", "csv", "hashlib", "urllib", "textwrap", "pprint", "statistics", "decimal", "fractions",
        "typing", "dataclasses", "enum", "glob", "shutil", "tempfile", "platform", "struct", "uuid", "io", "tomllib",
        "toml", "yaml", "numpy", "pandas", "requests", "sqlite3", "difflib", "configparser", "argparse", "xml", "html",
        "zipfile", "tarfile", "gzip", "inspect", "ast", "unittest", "torch", "sklearn", "scipy", "matplotlib", "flask",
        "django", "fastapi", "pydantic", "http", "socket", "ssl", "email", "logging", "traceback", "copy", "heapq",
        "bisect", "secrets", "locale", "calendar", "zoneinfo", "bs4", "lxml", "PIL", "tiktoken", "jsonschema",
        "packaging", "sysconfig", "site", "warnings", "contextlib", "abc", "numbers", "array", "queue", "threading",
    ];
    text.split(['\n', ';', ':']).map(str::trim).any(|line| {
        let module = |rest: &str| rest.split([' ', '.', ',']).next().unwrap_or_default().to_owned();
        if let Some(rest) = line.strip_prefix("from ") {
            let name = module(rest);
            return !PLAIN.contains(&name.as_str()) || name == "os" && !rest.contains("path");
        }
        line.strip_prefix("import ").is_some_and(|rest| {
            rest.split(',').map(str::trim).any(|one| {
                let name = module(one);
                // Under another name it would not be known again.
                !PLAIN.contains(&name.as_str()) || matches!(name.as_str(), "os" | "sys") && one.contains(" as ")
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipes_of_awk_are_told_from_patterns() {
        for text in ["{print | \"sh\"}", "BEGIN{\"id\" | getline}", "{ printf \"x\" |\"sh\"}", "{print $0|cmd}"] {
            assert!(awk_has_pipe(text), "{text}");
        }
        for text in ["/a|b/ {print $1}", "$1 == 2 || $2 == 3", "{print $1}", "/^(a|b)$/"] {
            assert!(!awk_has_pipe(text), "{text}");
        }
    }
}
