//! Programs by what they do with their words, as data.

/// Programs that never run their words.
pub(super) const DATA_PROGRAMS: &[&str] = &[
    "[", "ack", "ag", "basename", "bat", "bc", "bg", "break", "brew", "cat", "cd", "chdir", "chgrp", "chmod", "chown",
    "cksum", "clear", "cmp", "column", "comm", "continue", "cp", "curl", "cut", "date", "declare", "df", "diff",
    "dirname", "dirs", "disown", "du", "echo", "egrep", "exit", "expand", "export", "expr", "false", "fg", "fgrep",
    "file", "fmt", "fold", "free", "gh", "git", "grep", "groups", "gunzip", "gzip", "head", "hexdump", "hostname",
    "id", "jobs", "join", "jq", "kill", "killall", "less", "let", "ln", "local", "locale", "logger", "ls", "lsof",
    "man", "md5sum", "mkdir", "mktemp", "more", "mv", "nl", "notify-send", "nproc", "od", "paste", "pgrep", "pkill",
    "popd", "printenv", "printf", "ps", "pushd", "pwd", "read", "readlink", "readonly", "realpath", "return", "rev",
    "rg", "rm", "rmdir", "say", "seq", "set", "sha1sum", "sha256sum", "shift", "shuf", "sleep", "stat", "strings",
    "sum", "sync", "tac", "tail", "tee", "test", "touch", "tr", "tree", "true", "truncate", "tsort", "type", "typeset",
    "ulimit", "umask", "uname", "unexpand", "uniq", "unset", "unzip", "uptime", "wait", "wc", "wget", "whatis",
    "whereis", "which", "who", "whoami", "xxd", "yes", "yq", "zcat", ":", "getopts", "alias", "unalias", "trap",
    "eval", "source", ".",
];

/// Editors, and others whose words are programs of a language of their own.
pub(super) const UNRESOLVABLE_PROGRAMS: &[&str] = &[
    "at", "batch", "ed", "emacs", "emacsclient", "ex", "expect", "jshell", "nano", "nvim", "osascript", "parallel",
    "pwsh", "powershell", "red", "rvim", "rview", "screen", "vi", "view", "vim", "vimdiff", "wish", "wtype", "xdotool",
    "ydotool", "zenity",
];

/// Programs that write a file whose content their arguments determine.
pub(super) const CONTENT_WRITERS: &[&str] = &[
    "tee", "dd", "rsync", "scp", "sort", "shuf", "split", "csplit", "uniq", "rename", "sponge", "curl", "wget", "find",
    "gfind", "patch",
];

/// Programs whose `-c` is shell text.
pub(super) const DASH_C_PROGRAMS: &[&str] =
    &["su", "runuser", "script", "sg", "flock", "capsh", "newgrp", "rsh", "machinectl", "unshare"];
