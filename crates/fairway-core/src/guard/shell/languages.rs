//! Languages whose programs can stand in a command's words, as data.

/// A language, as far as its programs can start others.
pub(super) struct Language {
    /// Its interpreters, without versions.
    pub names: &'static [&'static str],
    /// Short options whose value is a program.
    pub text: &'static str,
    /// The long options with a program.
    pub long: &'static [&'static str],
    /// Short options with another value.
    pub valued: &'static str,
    /// The words by which a program starts another one.
    pub signs: &'static [&'static str],
}

/// The signs of any language.
pub(super) const COMMON_SIGNS: &[&str] =
    &["system", "popen", "exec", "spawn", "eval", "fork", "shell", "$(", "base64", "compile", "/bin/", "subprocess"];

const LANGUAGES: &[Language] = &[
    Language {
        names: &["python", "python2", "python3", "pypy", "pypy3", "ipython", "py"],
        text: "c",
        long: &[],
        valued: "WXQ",
        signs: &[
            "__", "import_module", "importlib", "getattr", "setattr", "globals", "locals(", "vars(", "pty", "ctypes",
            "cffi", "pickle", "marshal", "runpy", "timeit", "pdb", "code.", "imp.", "getoutput", "getstatus",
            "startfile", "sys.modules", "antigravity", "webbrowser", "multiprocessing", "\\x", "\\u", "\\N", "chr(",
            "operator", "codecs", "bytes.fromhex", "unhexlify", "import git", "from git", "sh import", "import sh",
            "plumbum", "invoke", "fabric", "pexpect", "asyncio",
        ],
    },
    Language {
        names: &["node", "nodejs", "bun", "deno", "tsx", "ts-node", "qjs"],
        text: "ep",
        long: &["eval", "print", "import", "require", "loader", "experimental-loader"],
        valued: "rC",
        signs: &[
            "child_process", "Function", "binding", "import(", "vm.", "globalThis", "global[", "this[", "process[",
            "module", "constructor", "Reflect", "Proxy", "worker", "Worker", "repl", "inspector", "dlopen", "\\x",
            "\\u", "fromCharCode", "atob", "Buffer", "Deno.", "Bun.", "cluster", "execa", "zx", "simple-git",
            "createRequire", "require[",
        ],
    },
    Language {
        names: &["perl", "perl5", "raku"],
        text: "eE",
        long: &[],
        valued: "",
        signs: &[
            "`", "qx", "open", "syscall", "do ", "do(", "require", "use ", "CORE", "&{", "&$", "->", "@{", "${", "(?{",
            "(??{", "<<", "glob", "pipe", "readpipe", "\\x", "chr", "pack", "no strict", "ENV", "INC", "*{", "sub ",
            "IPC", "|",
        ],
    },
    Language {
        names: &["ruby", "irb", "jruby", "truffleruby", "crystal"],
        text: "e",
        long: &[],
        valued: "rICEKTWFx",
        signs: &[
            "`", "%x", "open", "send", "method", "Kernel", "IO", "require", "load", "Process", "syscall", "const_get",
            "instance_", "class_", "Open3", "Fiddle", "define_", "\\x", "\\u", "pack", "chr", "|", "Object", "tap",
            "binding", "DATA", "ENV",
        ],
    },
    Language {
        names: &["php"],
        text: "rBRE",
        long: &["run", "process-begin", "process-code", "process-end"],
        valued: "dczStf",
        signs: &[
            "`", "passthru", "proc_", "pcntl", "assert", "create_function", "call_user", "array_", "usort", "uasort",
            "uksort", "include", "require", "mail", "$$", "}(", "](", ")(", "'(", "\"(", "preg_replace", "ob_start",
            "register_", "chr", "pack", "dl(", "FFI", "Closure", "\\x", "new ",
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
            "R", "Rscript", "julia", "elixir", "erl", "groovy", "scala", "kotlin", "clojure", "ghc", "runghc", "swipl",
            "guile", "sbcl", "clisp", "racket", "scheme", "tclsh", "octave", "maxima", "gnuplot", "dc", "m4", "nim",
            "janet", "fennel", "csi", "fsi", "dotnet-script", "perl6", "gforth",
        ],
        text: "eEcgx",
        long: &["eval", "exec", "print", "execute"],
        valued: "",
        signs: &[""],
    },
];

/// The language that an interpreter of this name runs. A version at the end of the name is ignored.
pub(super) fn language(name: &str) -> Option<&'static Language> {
    let plain = name.trim_end_matches(|character: char| character.is_ascii_digit() || matches!(character, '.' | '-'));
    LANGUAGES.iter().find(|language| language.names.iter().any(|known| *known == name || *known == plain))
}
