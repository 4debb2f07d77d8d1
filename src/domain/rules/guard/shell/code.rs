//! Programs of other languages that stand in a command's words. They are not understood; what could start a command in them
//! is a doubt.

use super::{Scan, Stdin, arg::Arg};

/// A language, as far as its programs can start others.
struct Language {
    /// Its interpreters, without versions.
    names: &'static [&'static str],
    /// Short options whose value is a program.
    text: &'static str,
    /// The same, long.
    long: &'static [&'static str],
    /// Short options with another value.
    valued: &'static str,
    /// What a program needs to start another one.
    signs: &'static [&'static str],
}

/// What is a sign in any language.
const ANY: &[&str] =
    &["system", "popen", "exec", "spawn", "eval", "fork", "shell", "$(", "base64", "compile", "/bin/", "subprocess"];

const LANGUAGES: &[Language] = &[
    Language {
        names: &["python", "python2", "python3", "pypy", "pypy3", "ipython", "py"],
        text: "c",
        long: &[],
        valued: "WXQ",
        signs: &[
            "__",
            "import_module",
            "importlib",
            "getattr",
            "setattr",
            "globals",
            "locals(",
            "vars(",
            "pty",
            "ctypes",
            "cffi",
            "pickle",
            "marshal",
            "runpy",
            "timeit",
            "pdb",
            "code.",
            "imp.",
            "getoutput",
            "getstatus",
            "startfile",
            "sys.modules",
            "antigravity",
            "webbrowser",
            "multiprocessing",
            "\\x",
            "\\u",
            "\\N",
            "chr(",
            "operator",
            "codecs",
            "bytes.fromhex",
            "unhexlify",
            "import git",
            "from git",
            "sh import",
            "import sh",
            "plumbum",
            "invoke",
            "fabric",
            "pexpect",
            "asyncio",
        ],
    },
    Language {
        names: &["node", "nodejs", "bun", "deno", "tsx", "ts-node", "qjs"],
        text: "ep",
        long: &["eval", "print", "import", "require", "loader", "experimental-loader"],
        valued: "rC",
        signs: &[
            "child_process",
            "Function",
            "binding",
            "import(",
            "vm.",
            "globalThis",
            "global[",
            "this[",
            "process[",
            "module",
            "constructor",
            "Reflect",
            "Proxy",
            "worker",
            "Worker",
            "repl",
            "inspector",
            "dlopen",
            "\\x",
            "\\u",
            "fromCharCode",
            "atob",
            "Buffer",
            "Deno.",
            "Bun.",
            "cluster",
            "execa",
            "zx",
            "simple-git",
            "createRequire",
            "require[",
        ],
    },
    Language {
        names: &["perl", "perl5", "raku"],
        text: "eE",
        long: &[],
        valued: "",
        signs: &[
            "`",
            "qx",
            "open",
            "syscall",
            "do ",
            "do(",
            "require",
            "use ",
            "CORE",
            "&{",
            "&$",
            "->",
            "@{",
            "${",
            "(?{",
            "(??{",
            "<<",
            "glob",
            "pipe",
            "readpipe",
            "\\x",
            "chr",
            "pack",
            "no strict",
            "ENV",
            "INC",
            "*{",
            "sub ",
            "IPC",
            "|",
        ],
    },
    Language {
        names: &["ruby", "irb", "jruby", "truffleruby", "crystal"],
        text: "e",
        long: &[],
        valued: "rICEKTWFx",
        signs: &[
            "`",
            "%x",
            "open",
            "send",
            "method",
            "Kernel",
            "IO",
            "require",
            "load",
            "Process",
            "syscall",
            "const_get",
            "instance_",
            "class_",
            "Open3",
            "Fiddle",
            "define_",
            "\\x",
            "\\u",
            "pack",
            "chr",
            "|",
            "Object",
            "tap",
            "binding",
            "DATA",
            "ENV",
        ],
    },
    Language {
        names: &["php"],
        text: "rBRE",
        long: &["run", "process-begin", "process-code", "process-end"],
        valued: "dczStf",
        signs: &[
            "`",
            "passthru",
            "proc_",
            "pcntl",
            "assert",
            "create_function",
            "call_user",
            "array_",
            "usort",
            "uasort",
            "uksort",
            "include",
            "require",
            "mail",
            "$$",
            "}(",
            "](",
            ")(",
            "'(",
            "\"(",
            "preg_replace",
            "ob_start",
            "register_",
            "chr",
            "pack",
            "dl(",
            "FFI",
            "Closure",
            "\\x",
            "new ",
        ],
    },
    Language {
        names: &["lua", "luajit", "lua5", "texlua"],
        text: "e",
        long: &[],
        valued: "l",
        signs: &[
            "os.", "io.", "load", "dofile", "require", "_G", "_ENV", "package", "debug", "ffi", "\\x", "\\u", "char",
            "os[", "io[",
        ],
    },
    Language {
        names: &["awk", "gawk", "mawk", "nawk", "original-awk"],
        text: "",
        long: &["source"],
        valued: "Fvfil",
        signs: &["getline", "@", "close(", "\\x", "|&"],
    },
    Language {
        names: &[
            "R",
            "Rscript",
            "julia",
            "elixir",
            "erl",
            "groovy",
            "scala",
            "kotlin",
            "clojure",
            "ghc",
            "runghc",
            "swipl",
            "guile",
            "sbcl",
            "clisp",
            "racket",
            "scheme",
            "tclsh",
            "octave",
            "maxima",
            "gnuplot",
            "dc",
            "m4",
            "nim",
            "janet",
            "fennel",
            "csi",
            "fsi",
            "dotnet-script",
            "perl6",
            "gforth",
        ],
        text: "eEcgx",
        long: &["eval", "exec", "print", "execute"],
        valued: "",
        signs: &[""],
    },
];

/// Modules of Python that run what their words say.
const MODULES: &[&str] =
    &["timeit", "pdb", "code", "runpy", "trace", "cProfile", "profile", "idlelib", "IPython", "pty", "this_is_none"];

fn language(name: &str) -> Option<&'static Language> {
    let plain = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || matches!(letter, '.' | '-'));
    LANGUAGES.iter().find(|language| language.names.iter().any(|known| *known == name || *known == plain))
}

/// Whether a program of this name runs programs of another language.
pub(super) fn is_interpreter(name: &str) -> bool {
    language(name).is_some() || matches!(name, "sed" | "gsed" | "ssed")
}

impl Scan {
    /// An interpreter and its words.
    pub(super) fn interpreter(&mut self, name: &str, argv: &[Arg], stdin: &Stdin) {
        if matches!(name, "sed" | "gsed" | "ssed") {
            return self.sed(argv, stdin);
        }
        let Some(language) = language(name) else { return };
        let is_awk = language.names.contains(&"awk");
        let (mut place, mut has_text, mut has_file) = (1, false, false);
        while let Some(arg) = argv.get(place) {
            let Some(text) = arg.text() else {
                if arg.may_be_option() {
                    self.doubt(&format!("what {name} runs is an expansion"));
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
                if option.len() > 1 && language.long.iter().any(|known| known.starts_with(option)) {
                    has_text = true;
                    match value {
                        Some(value) => self.code(language, name, &Arg::known(value)),
                        None => {
                            self.code(language, name, argv.get(place).unwrap_or(&Arg::known("")));
                            place += 1;
                        }
                    }
                }
                continue;
            }
            let letters: Vec<char> = text.chars().skip(1).collect();
            if matches!(letters.as_slice(), ['V' | 'v' | 'h']) && !is_awk {
                return;
            }
            for (at, letter) in letters.iter().enumerate() {
                let attached: String = letters.get(at + 1..).unwrap_or_default().iter().collect();
                if language.text.contains(*letter) {
                    has_text = true;
                    if attached.is_empty() || language.names.contains(&"node") {
                        self.code(language, name, argv.get(place).unwrap_or(&Arg::known("")));
                        place += 1;
                    } else {
                        self.code(language, name, &Arg::known(attached));
                    }
                    break;
                }
                if *letter == 'm' && language.names.contains(&"python") {
                    let module =
                        if attached.is_empty() { argv.get(place).cloned() } else { Some(Arg::known(attached)) };
                    let module = module.as_ref().and_then(Arg::text);
                    if module.is_none_or(|module| MODULES.contains(&module)) {
                        self.doubt(&format!("what {name} runs cannot be told"));
                    }
                    // A module that is called with the words behind it may run them.
                    self.within += 1;
                    self.note(argv.get(place + 1..).unwrap_or_default().to_vec(), true);
                    self.within -= 1;
                    return;
                }
                if matches!(letter, 'M' | 'm' | 'd' | 'D') && language.names.contains(&"perl") {
                    if attached.contains([';', '(', '=', '\'', '"', ' ']) || matches!(letter, 'd' | 'D') {
                        self.doubt(&format!("what {name} runs cannot be told"));
                    }
                    break;
                }
                // The suffix of copies, the form of records.
                if matches!(letter, 'i' | 'F' | 'x' | 'I' | 'C' | 'l') && language.names.contains(&"perl") {
                    if *letter != 'l' {
                        break;
                    }
                    continue;
                }
                if *letter == 'i' && language.names.contains(&"python") {
                    self.doubt(&format!("{name} reads what it runs from somewhere else"));
                }
                if language.valued.contains(*letter) {
                    let value =
                        if attached.is_empty() { argv.get(place).cloned() } else { Some(Arg::known(attached.clone())) };
                    if is_awk && matches!(letter, 'f' | 'i' | 'l') {
                        has_file = true;
                        if let Some(file) = &value {
                            if file.head() == "-" {
                                self.doubt(&format!("{name} reads what it runs from somewhere else"));
                            }
                            self.runs_file(file);
                        }
                    } else if value.as_ref().is_some_and(|value| value.head().starts_with("data:") || !value.is_one()) {
                        self.doubt(&format!("what {name} runs cannot be told"));
                    }
                    place += usize::from(attached.is_empty());
                    break;
                }
            }
        }
        if has_text {
            return;
        }
        let file = argv.get(place);
        if is_awk && !has_file {
            if let Some(text) = file {
                self.code(language, name, &text.clone());
            }
            return;
        }
        if has_file {
            return;
        }
        match file {
            Some(arg) if matches!(arg.text(), Some("eval")) && language.names.contains(&"node") => {
                self.code(language, name, argv.get(place + 1).unwrap_or(&Arg::known("")));
            }
            Some(arg) if arg.text() != Some("-") => {
                self.runs_file(arg);
                // `bun x`, `deno run`: the words behind may be a command.
                self.within += 1;
                self.note(argv.get(place..).unwrap_or_default().to_vec(), true);
                self.within -= 1;
            }
            _ => match stdin {
                Stdin::Text(text) => self.code(language, name, &Arg::known(text.clone())),
                Stdin::Inherited | Stdin::Other => {
                    self.doubt(&format!("{name} reads what it runs from somewhere else"));
                }
            },
        }
    }

    fn code(&mut self, language: &Language, name: &str, arg: &Arg) {
        let Some(text) = arg.text() else {
            self.doubt(&format!("what {name} runs is an expansion"));
            return;
        };
        let text = text.to_owned();
        self.soft(&text);
        self.writes.extend(written(&text).into_iter().map(Arg::known));
        let is_awk = language.names.contains(&"awk");
        let any = if is_awk { &["system"][..] } else { ANY };
        // Two that are no more than they say.
        let text = text.replace("re.compile(", "").replace(".execute(", "");
        let sign = any.iter().chain(language.signs).find(|sign| text.contains(**sign));
        if let Some(sign) = sign {
            self.doubt(&format!("a program of {name} may start others: it has '{sign}'"));
        } else if text.chars().any(|letter| !letter.is_ascii() && letter.is_alphanumeric())
            && !is_awk
            && has_foreign_names(&text)
        {
            self.doubt(&format!("a program of {name} has letters that may be others"));
        } else if is_awk && pipes(&text) {
            self.doubt(&format!("a program of {name} may start others: it has a pipe"));
        } else if language.names.contains(&"node") && requires(&text) {
            self.doubt(&format!("a program of {name} may start others: it loads a module"));
        } else if language.names.contains(&"perl") && evaluates(&text) {
            self.doubt(&format!("a program of {name} may start others: it evaluates a text"));
        } else if language.names.contains(&"python") && imports(&text) {
            self.doubt(&format!("a program of {name} may start others: it loads a module"));
        }
    }

    /// A stream editor: its scripts may run commands.
    fn sed(&mut self, argv: &[Arg], _stdin: &Stdin) {
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
                        self.doubt("sed reads what it runs from somewhere else");
                    }
                    self.runs_file(&file);
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
            let letters: Vec<char> = text.chars().skip(1).collect();
            for (at, letter) in letters.iter().enumerate() {
                let attached: String = letters.get(at + 1..).unwrap_or_default().iter().collect();
                let value =
                    if attached.is_empty() { argv.get(place).cloned() } else { Some(Arg::known(attached.clone())) };
                match letter {
                    'e' | 'f' | 'l' => {
                        place += usize::from(attached.is_empty());
                        let value = value.unwrap_or(Arg::known(""));
                        has_script |= *letter != 'l';
                        match letter {
                            'e' => scripts.push(value),
                            'f' => {
                                if value.head() == "-" {
                                    self.doubt("sed reads what it runs from somewhere else");
                                }
                                self.runs_file(&value);
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
        if plain.iter().any(|word| word.is_loose() && plain.first() != Some(word)) && !has_script {
            // It may bring another script.
            self.doubt("what sed runs is an expansion");
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
                            && file.starts_with(['/', '.', '~'])
                        {
                            self.writes.push(Arg::known(*file));
                        }
                    }
                    if runs(text) {
                        self.doubt("a script of sed runs a command");
                    }
                }
                None => self.doubt("what sed runs is an expansion"),
            }
        }
    }
}

/// Paths that lead away from where a program runs, and stand in one that may write to them.
fn written(text: &str) -> Vec<String> {
    const SIGNS: &[&str] = &[
        "write",
        "'w",
        "\"w",
        "'a'",
        "\"a\"",
        "'x",
        "\"x",
        "r+",
        "remove",
        "unlink",
        "rename",
        "mkdir",
        "makedirs",
        "copy",
        "move",
        "rmtree",
        "symlink",
        "link",
        "chmod",
        "chown",
        "touch",
        "put_contents",
        "truncate",
        "save",
        "dump",
        "rm(",
        "rmSync",
        "cpSync",
        "delete",
        "FileUtils",
        "open(F",
        ">",
    ];
    if !SIGNS.iter().any(|sign| text.contains(sign)) {
        return Vec::new();
    }
    let away = |word: &&str| {
        let leads = word.starts_with("../") || *word == ".." || word.starts_with('~') || word.contains("/../");
        leads || word.len() > 1 && word.starts_with('/') && !word.contains([' ', '\n', '(', ')', '\\'])
    };
    text.split(['\'', '"', '`']).filter(away).map(str::to_owned).collect()
}

/// Whether words outside of quotes have letters beyond ASCII: some languages read them as others.
fn has_foreign_names(text: &str) -> bool {
    let mut quote = None;
    for letter in text.chars() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (None, letter) if !letter.is_ascii() && letter.is_alphanumeric() => return true,
            _ => {}
        }
    }
    false
}

/// Whether a program of awk has a pipe that is no part of a pattern.
fn pipes(text: &str) -> bool {
    let letters: Vec<char> = text.chars().collect();
    letters.iter().enumerate().any(|(at, letter)| {
        let is_pipe =
            *letter == '|' && letters.get(at + 1) != Some(&'|') && (at == 0 || letters.get(at - 1) != Some(&'|'));
        let before: String = letters.get(..at).unwrap_or_default().iter().collect();
        let after: String = letters.get(at + 1..).unwrap_or_default().iter().collect();
        let follows = after.trim_start();
        is_pipe
            && (before.contains("print")
                || follows.starts_with(['"', '(', '$', '&'])
                || before.trim_end().ends_with('"'))
    })
}

/// Whether a program of node loads a module that it does not name, or one that starts programs.
fn requires(text: &str) -> bool {
    const PLAIN: &[&str] = &[
        "fs",
        "path",
        "os",
        "util",
        "url",
        "crypto",
        "assert",
        "zlib",
        "http",
        "https",
        "events",
        "querystring",
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
        let Some(quote) = rest.chars().next().filter(|letter| matches!(letter, '\'' | '"')) else { return true };
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
fn evaluates(text: &str) -> bool {
    let is_flag = |letter: char| {
        matches!(letter, 'g' | 'i' | 'm' | 's' | 'x' | 'o' | 'r' | 'e' | 'a' | 'd' | 'l' | 'u' | 'p' | 'n' | 'c')
    };
    text.match_indices("ee").any(|(at, _)| {
        let before = text.get(..at).unwrap_or_default().trim_end_matches(is_flag);
        before.ends_with(|letter: char| letter.is_ascii_punctuation())
    })
}

/// Whether a program of python loads a module that is not known to be harmless.
fn imports(text: &str) -> bool {
    const PLAIN: &[&str] = &[
        "json",
        "sys",
        "os",
        "re",
        "math",
        "time",
        "datetime",
        "pathlib",
        "collections",
        "itertools",
        "functools",
        "random",
        "string",
        "csv",
        "hashlib",
        "urllib",
        "textwrap",
        "pprint",
        "statistics",
        "decimal",
        "fractions",
        "typing",
        "dataclasses",
        "enum",
        "glob",
        "shutil",
        "tempfile",
        "platform",
        "struct",
        "uuid",
        "io",
        "tomllib",
        "toml",
        "yaml",
        "numpy",
        "pandas",
        "requests",
        "sqlite3",
        "difflib",
        "configparser",
        "argparse",
        "xml",
        "html",
        "zipfile",
        "tarfile",
        "gzip",
        "inspect",
        "ast",
        "unittest",
        "torch",
        "sklearn",
        "scipy",
        "matplotlib",
        "flask",
        "django",
        "fastapi",
        "pydantic",
        "http",
        "socket",
        "ssl",
        "email",
        "logging",
        "traceback",
        "copy",
        "heapq",
        "bisect",
        "secrets",
        "locale",
        "calendar",
        "zoneinfo",
        "bs4",
        "lxml",
        "PIL",
        "tiktoken",
        "jsonschema",
        "packaging",
        "sysconfig",
        "site",
        "warnings",
        "contextlib",
        "abc",
        "numbers",
        "array",
        "queue",
        "threading",
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

/// Whether a script of sed runs a command: `e`, or `s///e`. What cannot be read does.
fn runs(script: &str) -> bool {
    let letters: Vec<char> = script.chars().collect();
    let mut at = 0;
    let peek = |at: usize| letters.get(at).copied();
    let skip = |mut at: usize, delimiter: char| {
        // Behind the next delimiter that is not escaped nor in brackets.
        let mut bracket = false;
        while let Some(letter) = letters.get(at).copied() {
            at += 1;
            match letter {
                '\\' => at += 1,
                '[' if !bracket => {
                    bracket = true;
                    if letters.get(at) == Some(&'^') {
                        at += 1;
                    }
                    if letters.get(at) == Some(&']') {
                        at += 1;
                    }
                }
                ']' if bracket => bracket = false,
                // Not every version looks for brackets here: what differs is not worked out.
                letter if letter == delimiter && bracket => return None,
                letter if letter == delimiter => return Some(at),
                _ => {}
            }
        }
        None
    };
    while let Some(letter) = peek(at) {
        at += 1;
        match letter {
            ' ' | '\t' | '\n' | ';' | '{' | '}' | '!' | ',' | '~' | '+' | '$' | '0'..='9' => {}
            '#' => {
                while peek(at).is_some_and(|letter| letter != '\n') {
                    at += 1;
                }
            }
            '/' | '\\' => {
                let delimiter = if letter == '/' {
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
                while peek(at).is_some_and(|letter| matches!(letter, 'I' | 'M')) {
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
                        Some(letter) if letter == delimiter => break,
                        Some(_) => end += 1,
                    }
                }
                at = end + 1;
                while let Some(flag) = peek(at) {
                    match flag {
                        'e' => return true,
                        'g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9' => at += 1,
                        'w' => {
                            while peek(at).is_some_and(|letter| letter != '\n') {
                                at += 1;
                            }
                        }
                        _ => break,
                    }
                }
            }
            'a' | 'i' | 'c' => {
                // The text goes on behind a backslash at the line's end.
                while let Some(letter) = peek(at) {
                    at += 1;
                    match letter {
                        '\\' => at += 1,
                        '\n' => break,
                        _ => {}
                    }
                }
            }
            'r' | 'R' | 'w' | 'W' => {
                while peek(at).is_some_and(|letter| letter != '\n') {
                    at += 1;
                }
            }
            'b' | 't' | 'T' | ':' | 'v' => {
                while peek(at).is_some_and(|letter| !matches!(letter, '\n' | ';' | '}')) {
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
            "1e git push -f",
            "e",
            "s/a/b/e",
            "s/.*/git push/ge",
            "s|a|b|e",
            "/x/e ls",
            "p;e ls",
            "{e\n}",
            "s/a/b",
            "$!{e ls\n}",
            "1~2e",
            "s/x/y/;1e z",
        ] {
            assert!(runs(script), "{script}");
        }
        for script in [
            "s/a/b/g",
            "1,20p",
            "/re/d",
            "$d",
            "s/[/]x/y/;p",
            "a\\ text e",
            "/a/,/b/{s/e/f/;p}",
            "y/abc/def/",
            "2q",
            "s/a/e/",
            ":a;N;$!ba;s/\\n/ /g",
            "/^$/d",
            "s#a/b#c/e#g",
            "r e",
        ] {
            // A delimiter in brackets is read differently by different versions.
            assert_eq!(runs(script), script.contains("[/]"), "{script}");
        }
    }

    #[test]
    fn pipes_of_awk_are_told_from_patterns() {
        for text in ["{print | \"sh\"}", "BEGIN{\"id\" | getline}", "{ printf \"x\" |\"sh\"}", "{print $0|cmd}"] {
            assert!(pipes(text), "{text}");
        }
        for text in ["/a|b/ {print $1}", "$1 == 2 || $2 == 3", "{print $1}", "/^(a|b)$/"] {
            assert!(!pipes(text), "{text}");
        }
    }
}
