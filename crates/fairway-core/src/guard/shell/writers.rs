//! Programs that write and programs that do not, as data.

use super::arg::Arg;

/// Which words of a program without an option are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::guard) enum WrittenWords {
    /// All of them.
    All,
    /// All but the first.
    BehindFirst,
    First,
    Last,
    /// The last, or all where an option names the directory.
    LastOrTarget,
    /// None of them.
    None,
}

/// A program that writes.
pub(in crate::guard) struct Writer {
    names: &'static [&'static str],
    /// One of its first three arguments must be among these; empty: no condition.
    verbs: &'static [&'static str],
    /// The words that are written.
    pub words: WrittenWords,
    /// Options whose value is written.
    pub options: &'static [&'static str],
    /// Short options whose value is written.
    pub letters: &'static str,
    /// Every short option that has a value.
    pub valued: &'static str,
    /// Short options with which it prints instead of writing.
    pub unless: &'static str,
    /// Whether its other words are read.
    pub reads_others: bool,
}

const fn all(names: &'static [&'static str], words: WrittenWords) -> Writer {
    Writer { names, verbs: &[], words, options: &[], letters: "", valued: "", unless: "", reads_others: true }
}

const fn with_options(names: &'static [&'static str], options: &'static [&'static str]) -> Writer {
    Writer {
        names,
        verbs: &[],
        words: WrittenWords::None,
        options,
        letters: "",
        valued: "",
        unless: "",
        reads_others: true,
    }
}

impl Writer {
    /// Whether this entry describes a call of the program `name` with the words `argv`, the first of which is the program.
    pub fn is(&self, name: &str, argv: &[Arg]) -> bool {
        let is_verb = || argv.iter().skip(1).take(3).filter_map(Arg::text).any(|word| self.verbs.contains(&word));
        self.names.contains(&name) && (self.verbs.is_empty() || is_verb())
    }

    /// Whether the arguments of such a call name everything that the program writes.
    pub fn is_all(&self) -> bool {
        self.words != WrittenWords::None || !self.letters.is_empty()
    }
}

pub(in crate::guard) const WRITERS: &[Writer] = &[
    all(
        &[
            "tee", "touch", "rm", "mkdir", "rmdir", "truncate", "shred", "unlink", "mkfifo", "mknod", "mv", "link",
            "rename", "sponge",
        ],
        WrittenWords::All,
    ),
    all(&["chmod", "chown", "chgrp", "setfacl"], WrittenWords::BehindFirst),
    Writer {
        options: &["-t", "--target-directory"],
        ..all(&["cp", "install", "scp", "ln"], WrittenWords::LastOrTarget)
    },
    all(&["ffmpeg", "convert"], WrittenWords::Last),
    Writer {
        options: &["--backup-dir", "--partial-dir", "--temp-dir", "-T", "--log-file"],
        ..all(&["rsync"], WrittenWords::Last)
    },
    Writer { options: &["-o", "--output"], ..all(&["uniq", "split"], WrittenWords::BehindFirst) },
    Writer { options: &["-f", "--prefix"], ..with_options(&["csplit"], &[]) },
    all(&["zip"], WrittenWords::First),
    all(&["script"], WrittenWords::Last),
    Writer {
        unless: "ctl",
        options: &["-o", "--output"],
        ..all(
            &["gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "lzma", "zstd", "unzstd", "compress", "uncompress"],
            WrittenWords::All,
        )
    },
    with_options(&["sort", "shuf"], &["-o", "--output"]),
    Writer { options: &["-p", "--tmpdir"], ..all(&["mktemp"], WrittenWords::All) },
    Writer {
        options: &["--output", "--output-dir", "--dump-header", "--cookie-jar"],
        letters: "oDc",
        valued: "AbcCdDeEFhHKmoPQrtTuUwxXyYz",
        ..with_options(&["curl"], &[])
    },
    Writer {
        options: &["--output-document", "--directory-prefix", "--output-file", "--append-output"],
        letters: "OPoa",
        valued: "aABDeIiloOPQRtTUwX",
        ..with_options(&["wget"], &[])
    },
    with_options(&["unzip"], &["-d"]),
    Writer { verbs: &["new", "init"], reads_others: false, ..all(&["cargo"], WrittenWords::BehindFirst) },
    // Programs that act on another host, and write what they are told to beside it.
    with_options(&["psql"], &["-o", "--output", "-L", "--log-file"]),
    with_options(&["pg_dump", "pg_dumpall", "pg_restore", "pg_basebackup"], &["-f", "--file", "-D", "--pgdata"]),
    with_options(&["mysqldump"], &["-r", "--result-file", "-T", "--tab"]),
    with_options(&["redis-cli"], &["--rdb"]),
    with_options(&["helm"], &["-d", "--destination", "--output-dir"]),
    Writer { verbs: &["cp", "rsync"], ..all(&["gcloud"], WrittenWords::Last) },
    Writer { verbs: &["cp"], ..all(&["kubectl", "aws", "gsutil"], WrittenWords::Last) },
    Writer { verbs: &["sync", "mv", "rsync"], ..all(&["aws", "gsutil"], WrittenWords::Last) },
    Writer { verbs: &["download"], ..with_options(&["gh"], &["-D", "--dir", "-O", "--output"]) },
    Writer { verbs: &["clone"], ..all(&["gh"], WrittenWords::Last) },
    with_options(&["poetry", "uv", "pdm", "bundle"], &["-C", "--directory", "--project", "--path"]),
    with_options(
        &[
            "gcc", "g++", "cc", "c++", "clang", "clang++", "ld", "rustc", "go", "javac", "tsc", "esbuild", "ghc",
            "openssl", "pandoc",
        ],
        &["-o", "--output", "--out-dir", "-out", "-keyout", "-d", "--outDir", "--outfile", "--outdir"],
    ),
    Writer {
        reads_others: false,
        ..with_options(
            &["make", "npm", "pnpm", "yarn", "cargo", "cmake", "pip", "ninja", "just", "cpio"],
            &[
                "-C", "--directory", "--prefix", "--dir", "--cwd", "--target", "--target-dir", "--manifest-path", "-B",
                "-D", "-t",
            ],
        )
    },
];

/// Options whose value any program reads.
pub(in crate::guard) const READ_OPTIONS: &[&str] = &[
    "-c", "--config", "--config-file", "-f", "--file", "--input", "--in", "--from", "--src", "--source", "--schema",
    "--include", "--rcfile", "--env-file", "--data", "--cacert", "--cert", "--key", "--template", "--ignore-path",
];

/// Programs that write none of their words, and nothing where they run; among them those that act on another host.
pub(in crate::guard) const READERS: &[&str] = &[
    "[", "[[", "ack", "actionlint", "ag", "alias", "ansible", "az", "base32", "base64", "basename", "bat", "bc", "bg",
    "break", "b2sum", "cal", "cat", "cd", "chdir", "cksum", "clear", "cmp", "column", "comm", "command", "continue",
    "crontab", "cut", "date", "declare", "df", "diff", "dig", "dirname", "dirs", "disown", "dmesg", "du", "echo",
    "egrep", "env", "eval", "exec", "exit", "expand", "export", "expr", "factor", "fairway", "false", "fd", "fdfind",
    "fg", "fgrep", "file", "find", "fmt", "fold", "free", "fuser", "gcloud", "getent", "getopts", "grep", "groups",
    "hadolint", "hash", "head", "helm", "hexdump", "history", "host", "hostname", "http", "id", "identify", "ip",
    "jobs", "join", "journalctl", "jq", "kill", "killall", "kubectl", "ldd", "less", "let", "local", "locale",
    "logger", "ls", "lsblk", "lscpu", "lsof", "man", "md5sum", "more", "mysql", "nc", "ncat", "netstat", "nl", "nm",
    "nproc", "nslookup", "numfmt", "objdump", "od", "open", "paste", "pgrep", "ping", "pkill", "popd", "printenv",
    "printf", "ps", "psql", "pushd", "pwd", "read", "readelf", "readlink", "readonly", "realpath", "redis-cli",
    "return", "rev", "rg", "seq", "set", "sha1sum", "sha256sum", "sha512sum", "shellcheck", "shift", "shopt", "size",
    "sleep", "source", ".", ":", "ss", "ssh", "stat", "strings", "stty", "sum", "sw_vers", "sync", "systemctl", "tac",
    "tail", "test", "time", "top", "tput", "tr", "traceroute", "trap", "tree", "true", "tsort", "tty", "type",
    "typeset", "ulimit", "umask", "unalias", "uname", "unexpand", "unset", "uptime", "users", "vmstat", "wait", "wc",
    "whatis", "whereis", "which", "who", "whoami", "xdg-open", "xxd", "yamllint", "yes", "zcat", "zgrep", "zless",
    "awk", "gawk", "mawk", "sed", "perl", "ruby", "sqlite3", "gh", "aws", "gsutil",
];

/// A command that writes outside of where it runs, whatever its words say. An empty list is any.
struct Elsewhere {
    programs: &'static [&'static str],
    /// One of its first words.
    verbs: &'static [&'static str],
    /// One of its flags.
    flags: &'static [&'static str],
    /// Beginnings of words with which it does not.
    unless: &'static [&'static str],
}

const fn elsewhere(
    programs: &'static [&'static str],
    verbs: &'static [&'static str],
    flags: &'static [&'static str],
    unless: &'static [&'static str],
) -> Elsewhere {
    Elsewhere { programs, verbs, flags, unless }
}

const ELSEWHERE: &[Elsewhere] = &[
    elsewhere(&["npm", "pnpm", "yarn", "bun"], &[], &["-g", "--global"], &[]),
    elsewhere(&["yarn"], &["global"], &[], &["list", "dir", "bin"]),
    elsewhere(&["deno", "dotnet"], &["install", "uninstall", "tool"], &["-g", "--global"], &[]),
    elsewhere(&["pipx"], INSTALL_VERBS, &[], &[]),
    elsewhere(&["uv"], &["tool"], &[], &["run", "list", "dir"]),
    elsewhere(&["pyenv", "rbenv", "nodenv", "asdf", "mise", "volta"], &["install", "uninstall", "global"], &[], &[]),
    elsewhere(&["corepack"], &["enable", "disable"], &[], &[]),
    elsewhere(&["flatpak"], INSTALL_VERBS, &[], &[]),
    elsewhere(&["code", "cursor", "codium"], &[], &["--install-extension", "--uninstall-extension"], &[]),
    elsewhere(&["systemctl"], &["enable", "disable", "mask", "unmask", "link", "edit", "set-default"], &[], &[]),
    elsewhere(&["cmake"], &[], &["--install"], &["--prefix"]),
    elsewhere(&["cargo"], &["install", "uninstall", "login"], &[], &["--root", "--list"]),
    elsewhere(&["go"], &["install"], &[], &[]),
    elsewhere(&["go"], &["env"], &["-w", "-u"], &[]),
    elsewhere(&["gem"], &["install", "uninstall", "update"], &[], &["-i", "--install-dir"]),
    elsewhere(&["pip"], &["install"], &["--user"], &[]),
    elsewhere(
        &["pip", "npm", "poetry", "conda", "yarn"],
        &["config"],
        &[],
        &["--local", "--project", "get", "list", "ls"],
    ),
    elsewhere(&["bundle"], &["config"], &["--global"], &[]),
    elsewhere(&["brew", "apt-get", "dnf", "apk", "pacman", "snap", "port", "zypper", "pkg"], INSTALL_VERBS, &[], &[]),
    elsewhere(&["pacman"], &[], &["-S", "-Syu", "-R"], &[]),
    elsewhere(&["mktemp"], &[], &[], &["-p", "--tmpdir", "./", "build", "tmp"]),
    elsewhere(&["ssh-keygen"], &[], &["-t"], &["-f"]),
    elsewhere(
        &["rustup"],
        &["install", "update", "default", "target", "component", "toolchain", "self"],
        &[],
        &["list", "show"],
    ),
];
const INSTALL_VERBS: &[&str] = &[
    "install", "reinstall", "remove", "uninstall", "upgrade", "update", "add", "del", "purge", "autoremove",
    "dist-upgrade",
];

/// The program's name when the command writes outside of its directory whatever its arguments name, such as `npm install -g`;
/// `None` otherwise.
pub(in crate::guard) fn writes_elsewhere(name: &str, argv: &[Arg]) -> Option<&'static str> {
    let words = || argv.iter().skip(1).filter_map(Arg::text);
    let found = ELSEWHERE.iter().find(|Elsewhere { programs, verbs, flags, unless }| {
        programs.contains(&name)
            && (verbs.is_empty()
                || words().filter(|word| !word.starts_with('-')).take(2).any(|word| verbs.contains(&word)))
            && (flags.is_empty() || words().any(|word| flags.contains(&word)))
            && !words().any(|word| unless.iter().any(|one| word.starts_with(one)))
            && !(name == "mktemp" && words().any(|word| !word.starts_with('-')))
    });
    found?.programs.iter().find(|program| **program == name).copied()
}
