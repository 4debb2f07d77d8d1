//! Commands, words and flags that mean the same, as data.

/// Names of one program. A version behind a name (`pip3.11`) is part of no name.
const SAME_PROGRAMS: &[&[&str]] = &[
    &["pip", "pip3"],
    &["python", "python3", "py", "pypy", "pypy3"],
    &["node", "nodejs"],
    &["make", "gmake", "bmake", "remake"],
    &["apt-get", "apt", "aptitude"],
    &["dnf", "yum", "microdnf"],
    &["helm", "helm3"],
    &["gradle", "gradlew"],
    &["mvn", "mvnw"],
    &["terraform", "tofu"],
    &["rm", "grm"],
    &["sed", "gsed"],
    &["tar", "gtar", "bsdtar"],
    &["find", "gfind"],
    &["psql", "pgcli"],
    &["conda", "mamba", "micromamba"],
];

/// Leading words that call the same command of a program, the program's name left out.
const SAME_WORDS: &[(&str, &[&[&str]])] = &[
    ("git", &[&["add"], &["stage"]]),
    ("git", &[&["push"], &["send-pack"], &["http-push"]]),
    ("docker", &[&["rm"], &["container", "rm"], &["container", "remove"]]),
    ("docker", &[&["run"], &["container", "run"]]),
    ("docker", &[&["exec"], &["container", "exec"]]),
    ("docker", &[&["cp"], &["container", "cp"]]),
    ("docker", &[&["kill"], &["container", "kill"]]),
    ("docker", &[&["stop"], &["container", "stop"]]),
    ("docker", &[&["start"], &["container", "start"]]),
    ("docker", &[&["commit"], &["container", "commit"]]),
    ("docker", &[&["rmi"], &["image", "rm"], &["image", "remove"]]),
    ("docker", &[&["push"], &["image", "push"]]),
    ("docker", &[&["pull"], &["image", "pull"]]),
    ("docker", &[&["build"], &["image", "build"], &["builder", "build"], &["buildx", "build"]]),
    ("docker", &[&["volume", "rm"], &["volume", "remove"]]),
    ("docker", &[&["network", "rm"], &["network", "remove"]]),
    (
        "npm",
        &[
            &["install"],
            &["i"],
            &["in"],
            &["ins"],
            &["inst"],
            &["insta"],
            &["instal"],
            &["isnt"],
            &["isntall"],
            &["add"],
        ],
    ),
    ("npm", &[&["uninstall"], &["remove"], &["rm"], &["r"], &["un"], &["unlink"]]),
    ("npm", &[&["run"], &["run-script"], &["rum"], &["urn"]]),
    ("npm", &[&["test"], &["t"], &["tst"]]),
    ("npm", &[&["ci"], &["clean-install"], &["ic"], &["install-clean"]]),
    ("npm", &[&["exec"], &["x"]]),
    ("npm", &[&["update"], &["up"], &["upgrade"], &["udpate"]]),
    ("pnpm", &[&["install"], &["i"]]),
    ("pnpm", &[&["remove"], &["rm"], &["un"], &["uninstall"]]),
    ("pnpm", &[&["run"], &["run-script"]]),
    ("bun", &[&["install"], &["i"]]),
    ("bun", &[&["add"], &["a"]]),
    ("bun", &[&["remove"], &["rm"]]),
    ("helm", &[&["uninstall"], &["delete"], &["del"], &["un"]]),
    ("cargo", &[&["build"], &["b"]]),
    ("cargo", &[&["run"], &["r"]]),
    ("cargo", &[&["test"], &["t"]]),
    ("cargo", &[&["check"], &["c"]]),
    ("cargo", &[&["doc"], &["d"]]),
    ("cargo", &[&["remove"], &["rm"]]),
    ("gh", &[&["pr", "create"], &["pr", "new"]]),
    ("gh", &[&["issue", "create"], &["issue", "new"]]),
    ("gh", &[&["repo", "create"], &["repo", "new"]]),
    ("brew", &[&["uninstall"], &["remove"], &["rm"]]),
    ("conda", &[&["remove"], &["uninstall"]]),
    ("pip", &[&["install"], &["i"]]),
    ("terraform", &[&["destroy"], &["apply", "-destroy"]]),
];

/// Words that change nothing about which command is called.
const IDLE_WORDS: &[(&str, &[&str])] = &[("gcloud", &["beta", "alpha", "preview"]), ("bundle", &["exec"])];

/// Programs each of whose words may be a target: their order does not matter, nor what stands between.
const TARGET_PROGRAMS: &[&str] = &["make", "just", "rake", "ninja", "gradle", "mvn", "ant", "task", "invoke", "mage"];

/// Flags that are the same to their program: the words of the command, then the spellings.
const SAME_FLAGS: &[(&[&str], &[&str])] = &[
    (&["git", "push"], &["--force", "-f"]),
    (&["git", "push"], &["--delete", "-d", ":*"]),
    (&["git", "push"], &["--set-upstream", "-u"]),
    (&["git", "push"], &["--dry-run", "-n"]),
    (&["git", "clean"], &["--force", "-f"]),
    (&["git", "checkout"], &["--force", "-f"]),
    (&["git", "switch"], &["--force", "-f", "--discard-changes"]),
    (&["git", "branch"], &["-D", "-d", "--delete"]),
    (&["git", "branch"], &["--force", "-f"]),
    (&["git", "branch"], &["--move", "-m", "-M"]),
    (&["git", "commit"], &["--no-verify", "-n"]),
    (&["git", "commit"], &["--all", "-a"]),
    (&["git", "add"], &["--all", "-A"]),
    (&["git", "add"], &["--force", "-f"]),
    (&["git", "rm"], &["--force", "-f"]),
    (&["git", "tag"], &["--delete", "-d"]),
    (&["git", "tag"], &["--force", "-f"]),
    (&["git", "worktree"], &["--force", "-f"]),
    (&["rm"], &["-r", "-R", "--recursive"]),
    (&["rm"], &["-f", "--force"]),
    (&["cp"], &["-r", "-R", "--recursive", "-a", "--archive"]),
    (&["cp"], &["-f", "--force"]),
    (&["mv"], &["-f", "--force"]),
    (&["ln"], &["-f", "--force"]),
    (&["chmod"], &["-R", "--recursive"]),
    (&["chown"], &["-R", "--recursive"]),
    (&["chgrp"], &["-R", "--recursive"]),
    (&["grep"], &["-r", "-R", "--recursive", "--dereference-recursive"]),
    (&["sed"], &["-i", "--in-place"]),
    (&["curl"], &["-k", "--insecure"]),
    (&["curl"], &["-X", "--request"]),
    (&["curl"], &["-o", "--output"]),
    (&["docker", "compose"], &["-v", "--volumes"]),
    (&["docker"], &["-f", "--force"]),
    (&["docker"], &["-v", "--volume", "--volumes"]),
    (&["docker"], &["-a", "--all"]),
    (&["npm"], &["-f", "--force"]),
    (&["npm"], &["-g", "--global"]),
    (&["pnpm"], &["-g", "--global"]),
    (&["pip"], &["-U", "--upgrade"]),
    (&["kubectl"], &["--all", "-A", "--all-namespaces"]),
    (&["kubectl"], &["-n", "--namespace"]),
    (&["kubectl"], &["-f", "--filename"]),
    (&["helm"], &["-n", "--namespace"]),
    (&["apt-get"], &["-y", "--yes", "--assume-yes"]),
    (&["cargo", "publish"], &["-n", "--dry-run"]),
    (&["find"], &["-delete"]),
    (&["pkill"], &["-f", "--full"]),
    (&["rsync"], &["-n", "--dry-run"]),
];

/// The main name of a program that has several, such as `pip` for `pip3.11`. Any other name is returned unchanged.
pub(super) fn program(name: &str) -> &str {
    let class = |name: &str| SAME_PROGRAMS.iter().find(|names| names.contains(&name)).and_then(|names| names.first());
    if let Some(first) = class(name) {
        return first;
    }
    if !name.ends_with(|character: char| character.is_ascii_digit()) {
        return name;
    }
    let plain = name.trim_end_matches(|character: char| character.is_ascii_digit() || character == '.');
    class(plain).copied().unwrap_or(name)
}

/// Every list of words that calls the same command of a program, the given one first: `docker rm` is also `docker container
/// rm`.
pub(super) fn word_lists<'a>(program: &str, words: &[&'a str]) -> Vec<Vec<&'a str>> {
    let mut all = vec![words.to_vec()];
    let of_program = SAME_WORDS.iter().filter(|(name, _)| *name == program).map(|(_, lists)| *lists);
    for lists in of_program {
        let Some(own) = lists.iter().find(|list| words.starts_with(list)) else { continue };
        let rest = words.get(own.len()..).unwrap_or_default();
        all.extend(lists.iter().filter(|list| *list != own).map(|list| [*list, rest].concat()));
    }
    all
}

/// Whether a word does not affect which command of the program is called, such as `beta` in `gcloud beta run`.
pub(super) fn is_idle_word(program: &str, word: &str) -> bool {
    IDLE_WORDS.iter().any(|(name, words)| *name == program && words.contains(&word))
}

/// Whether the program's arguments are targets in any order, as those of `make`.
pub(super) fn has_targets(program: &str) -> bool {
    TARGET_PROGRAMS.contains(&program)
}

/// Groups of flags that mean the same in this command, such as `--force` and `-f` of `git push`.
pub(super) fn flag_groups(command: &[String]) -> impl Iterator<Item = &'static [&'static str]> + '_ {
    let is_meant = move |words: &[&str]| {
        let first = command.first().map(|word| super::shell::arg::base_name(word));
        words.len() <= command.len()
            && first.is_some_and(|first| words.first().is_some_and(|word| *word == program(first)))
            && words.iter().zip(command).skip(1).all(|(want, have)| have == want)
    };
    SAME_FLAGS.iter().filter(move |(words, _)| is_meant(words)).map(|(_, flags)| *flags)
}
