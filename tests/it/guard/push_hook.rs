//! The real pushes of a session: git asks the guard with the refs, however the push was spelled, and every hook of the
//! repository runs as before.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::check_text;
use crate::common::test_project::CommandOutput;
use crate::sessions::{Sessions, eventually};

const RULE: &str =
    "\n[[guard.rules]]\nname = \"no-rewrite\"\neffect = \"force-push\"\naction = \"deny\"\nreason = \"ask a person\"\n";

/// A repository with a remote, a session in it, and the environment that the session was given.
struct Pushing {
    world: Sessions,
    env: BTreeMap<OsString, OsString>,
}

impl Pushing {
    fn new(launch: &[&str]) -> Self {
        Self::under(RULE, launch)
    }

    /// Under this rule.
    fn under(rule: &str, launch: &[&str]) -> Self {
        let world = Sessions::with_git();
        let config = world.root().join(".fairway.toml");
        let text = fs::read_to_string(&config).unwrap();
        fs::write(&config, format!("{text}{rule}")).unwrap();
        world.run(["trust"]).exits(0);
        let root = world.root();
        world.git(&root, &["init", "--quiet", "--bare", "--initial-branch=main", "../remote.git"]);
        world.git(&root, &["remote", "add", "origin", "../remote.git"]);
        world.git(&root, &["commit", "--quiet", "--all", "--message=rules"]);
        world.git(&root, &["push", "--quiet", "-u", "origin", "main"]);
        world.git(&root, &["config", "user.name", "a"]);
        world.git(&root, &["config", "user.email", "a@b"]);
        let env = Self::launched(&world, "s1", launch);
        Self { world, env }
    }

    /// The environment of a new session.
    fn launched(world: &Sessions, name: &str, launch: &[&str]) -> BTreeMap<OsString, OsString> {
        let file = world.dir().join(format!("env-{name}"));
        let script = format!("env -0 >{0}.new; mv {0}.new {0}; exec sleep 300", file.display());
        let words = ["--role", "r", "--backend", "shell", "--name", name];
        let program = ["--", "sh", "-c", &script];
        world.launch(&words.iter().chain(launch).chain(&program).copied().collect::<Vec<_>>());
        eventually("the environment is written", || file.exists().then_some(()));
        let pairs = fs::read(&file).unwrap();
        let pairs = pairs.split(|byte| *byte == 0).filter_map(|pair| {
            let at = pair.iter().position(|byte| *byte == b'=')?;
            Some((OsString::from_vec(pair[..at].to_vec()), OsString::from_vec(pair[at + 1..].to_vec())))
        });
        pairs.collect()
    }

    /// Runs shell text as the session would, in this directory.
    fn sh(&self, directory: &Path, text: &str) -> CommandOutput {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", text]).env_clear().envs(&self.env).current_dir(directory);
        command.output().unwrap().into()
    }

    #[track_caller]
    fn passes(&self, directory: &Path, text: &str) {
        let before = self.remote();
        self.sh(directory, text).exits(0);
        assert_ne!(self.remote(), before, "{text}");
    }

    #[track_caller]
    fn denied(&self, directory: &Path, text: &str) {
        let before = self.remote();
        let run = self.sh(directory, text);
        assert!(run.code != Some(0), "{text}: {run:#?}");
        assert!(run.stderr.contains("fairway: git pre-push: the push is denied: no-rewrite: ask a person"), "{run:#?}");
        assert_eq!(self.remote(), before, "{text}");
    }

    fn remote(&self) -> String {
        self.world.git(&self.world.dir().join("remote.git"), &["for-each-ref"])
    }

    fn hook(&self, directory: &str, name: &str, text: &str) -> PathBuf {
        let path = self.world.root().join(directory).join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }
}

#[test]
fn forced_push_is_denied_however_it_is_spelled() {
    let pushing = Pushing::new(&[]);
    let root = pushing.world.root();
    pushing.sh(&root, "git commit --quiet --allow-empty -m one && git push --quiet").exits(0);
    pushing
        .sh(&root, "git push --quiet origin main:side main:other && git tag v1 && git push --quiet origin v1")
        .exits(0);
    // A push that git would take without force stays allowed, with a plus too.
    pushing.sh(&root, "git commit --quiet --allow-empty -m two && git push --quiet origin +main").exits(0);
    pushing.sh(&root, "git commit --quiet --amend --allow-empty -m three").exits(0);
    for text in [
        "git push -f",
        "git push --force-with-lease origin main",
        "git push origin +main",
        "x=pu; x=${x}sh; git $x -f",
        "git config alias.p 'push --force' && git p",
        "printf '%s' 'git push -f' >x.sh; sh x.sh",
        "git config remote.origin.push +refs/heads/main && git push",
        "git push --mirror",
        "git push origin --delete side",
        "git push origin :side",
        "git tag -f v1 && git push origin +v1",
    ] {
        pushing.denied(&root, text);
    }
    // A view of the history that only this repository has changes nothing.
    pushing.sh(&root, "git replace --graft HEAD origin/main").exits(0);
    pushing.denied(&root, "git push -f origin main");
    pushing.sh(&root, "git replace -d HEAD").exits(0);
    // A commit of the remote that is absent here.
    pushing.world.git(pushing.world.dir(), &["clone", "--quiet", "remote.git", "clone"]);
    let clone = pushing.world.dir().join("clone");
    pushing.world.git(&clone, &["commit", "--quiet", "--allow-empty", "-m", "theirs"]);
    pushing.world.git(&clone, &["push", "--quiet", "origin", "HEAD:other"]);
    pushing.denied(&root, "git push -f origin main:other");
    let log = pushing.world.json(["guard", "log", "--denied"]);
    let last = log.as_array().unwrap().last().unwrap();
    assert_eq!(
        (&last["tool"], &last["session_id"], &last["rule"]),
        (&"git push".into(), &"s1".into(), &"no-rewrite".into())
    );
    assert_eq!(last["input"]["refs"][0], "refs/heads/other");
    // A session that has ended may do nothing more, and a push without a session neither.
    let run = pushing.sh(&root, "env -u FAIRWAY_RUN_ID git push -f");
    assert!(run.code != Some(0) && run.stderr.contains("names no session"), "{run:#?}");
    pushing.world.run(["session", "stop", "s1"]).exits(0);
    let run = pushing.sh(&root, "git push -f");
    assert!(run.code != Some(0) && run.stderr.contains("the push is denied: the session s1 is"), "{run:#?}");
}

/// What a script or a program writes to go around the hook.
const AROUND_THE_HOOK: &[&str] = &[
    "git push --no-verify -f",
    "git push -f --no-verif origin main",
    "git --no-pager -C . --git-dir=.git push origin +main --no-verify",
    "git config alias.p 'push --no-verify -f' && git p",
    "git config alias.p 'push --no-verify' && git config alias.q 'p -f' && git q origin main",
    "git config alias.P '-c core.hooksPath=/dev/null push -f' && git p",
    "git config alias.s '!git push --no-verify -f' && git s",
    "git config alias.t s && git config alias.s '!f() { git push --no-verify -f \"$@\"; }; f' && git t origin main",
    "git -c alias.z='push --no-verify -f' z",
    "git -c core.hooksPath=/dev/null push -f",
    "P=/dev/null git --config-env=core.hooksPath=P push -f",
    "GIT_CONFIG_PARAMETERS=\"'core.hooksPath=/dev/null'\" git push -f",
    "GIT_CONFIG_COUNT=0 git push -f",
    "unset GIT_CONFIG_COUNT; git push --no-verify -f",
    "printf 'git push --no-verify -f' >../x.sh; sh ../x.sh",
    "python3 -c 'import subprocess, sys; sys.exit(subprocess.call([\"git\", \"push\", \"-f\", \"--no-verify\"]))'",
];

#[test]
fn push_that_goes_around_the_hook_is_denied() {
    let mut pushing = Pushing::new(&[]);
    let root = pushing.world.root();
    pushing.sh(&root, "git commit --quiet --allow-empty -m one && git push --quiet").exits(0);
    pushing.sh(&root, "git commit --quiet --amend --allow-empty -m two").exits(0);
    let path = pushing.env[&OsString::from("PATH")].to_str().unwrap().to_owned();
    let front = path.split(':').next().unwrap();
    // The git of the tests, and that of the system.
    for path in [path.clone(), format!("{front}:/usr/bin:/bin")] {
        pushing.env.insert("PATH".into(), path.into());
        for text in AROUND_THE_HOOK {
            pushing.denied(&root, text);
        }
        // A misspelled command is no push.
        let before = pushing.remote();
        for text in
            ["git psuh --no-verify -f", "git config alias.pop-up psuh && git -c help.autoCorrect=immediate pop-up -f"]
        {
            let run = pushing.sh(&root, &format!("git config help.autoCorrect immediate; {text}"));
            assert!(run.code != Some(0) && run.stderr.contains("is not a git command"), "{run:#?}");
        }
        assert_eq!(pushing.remote(), before);
        // Without its variables the session is unknown.
        let before = pushing.remote();
        let run = pushing.sh(&root, "env -i PATH=\"$PATH\" HOME=\"$HOME\" git push --no-verify -f");
        assert!(run.code != Some(0) && run.stderr.contains("names no session"), "{run:#?}");
        assert_eq!(pushing.remote(), before);
    }
    // A hook that is gone asks nothing.
    let hook = Path::new(front).parent().unwrap().join("pre-push");
    fs::rename(&hook, hook.with_extension("moved")).unwrap();
    let run = pushing.sh(&root, "git push --no-verify -f");
    fs::rename(hook.with_extension("moved"), &hook).unwrap();
    assert!(run.code == Some(1) && run.stderr.contains("is gone; launch the session again"), "{run:#?}");
    // What is no forced push passes, without the hooks that were to be skipped.
    pushing.sh(&root, "git reset --quiet --hard origin/main").exits(0);
    pushing.hook(".git/hooks", "pre-push", "echo own >>../own.log; exit 1");
    pushing.hook(".other", "pre-push", "echo \"other $1\" >>../own.log");
    for text in [
        "git push --no-verify",
        "git -c core.hooksPath=.other push origin main",
        "git -c core.hooksPath=/dev/null push",
    ] {
        pushing.passes(&root, &format!("git commit --quiet --allow-empty -m more && {text} --quiet"));
    }
    assert_eq!(fs::read_to_string(pushing.world.dir().join("own.log")).unwrap(), "other origin\n");
    assert!(pushing.sh(&root, "git commit --quiet --allow-empty -m more && git push --quiet").code != Some(0));
}

#[test]
fn git_of_a_session_hands_on_everything_else() {
    let mut pushing = Pushing::new(&[]);
    let root = pushing.world.root();
    let path = pushing.env[&OsString::from("PATH")].to_str().unwrap().to_owned();
    let (front, others) = path.split_once(':').unwrap();
    pushing.hook(".git/hooks", "pre-commit", "exit 1");
    let says = |pushing: &Pushing, text: &str| {
        let run = pushing.sh(&root, text);
        (run.stdout.clone() + &run.stderr, run.code)
    };
    let real = |text: &str| format!("PATH={others}; {text}");
    for text in [
        "git version",
        "git",
        "git -h",
        "git --no-such-option push",
        "git nothing",
        "git config alias.bad \"push 'x\" && git bad; git config --unset alias.bad",
        "git config alias.loop loop && git loop; git config --unset alias.loop",
        "echo text | git hash-object --stdin",
        "echo more >code.txt; git diff --exit-code",
        "git commit --quiet -am no",
        "git config alias.show-words '!printf \"<%s>\" \"$GIT_PREFIX\"' && mkdir -p sub && cd sub && git show-words 'a b' \"c'd\"",
        "git config alias.st 'status --short' && git st -b",
        "git -c core.abbrev=9 rev-parse --short HEAD",
        "git stash push --quiet && git stash list | wc -l && git stash pop --quiet",
        "sh -c 'kill -TERM $$; git version'",
        "git push --dry-run nowhere",
    ] {
        assert_eq!(says(&pushing, text), says(&pushing, &real(text)), "{text}");
    }
    pushing.sh(&root, "git commit --quiet --no-verify -am yes").exits(0);
    // Descriptors stay open.
    pushing.sh(&root, "exec 7>../trace; GIT_TRACE=7 git version").exits(0);
    assert!(fs::read_to_string(pushing.world.dir().join("trace")).unwrap().contains("version"));
    // Two sessions' gits do not call each other for ever, and the own one needs another.
    let other = pushing.world.dir().join("front");
    fs::create_dir(&other).unwrap();
    fs::copy(Path::new(front).join("git"), other.join("git")).unwrap();
    pushing.env.insert("PATH".into(), format!("{front}:{}:{front}:{others}", other.display()).into());
    pushing.sh(&root, "git version").exits(0);
    pushing.env.insert("PATH".into(), format!("{front}:{}", other.display()).into());
    let run = pushing.sh(&root, "git version");
    assert_eq!((run.code, run.stderr.as_str()), (Some(127), "fairway: git is not installed\n"));
    // A launch inside of the session does not put one before the other.
    pushing.env.insert("PATH".into(), path.clone().into());
    let inner = Pushing::launched(&pushing.world, "s2", &["--env", &format!("PATH={path}")]);
    assert_eq!(inner[&OsString::from("PATH")], OsString::from(path.clone()));
    // Without the program it is the git of the system, but no push.
    let script = fs::read_to_string(Path::new(front).join("git")).unwrap();
    let program = pushing.env[&OsString::from("FAIRWAY_BIN")].to_str().unwrap().to_owned();
    fs::write(other.join("git"), script.replace(&program, "/nowhere/fairway")).unwrap();
    pushing.env.insert("PATH".into(), format!("{}:{others}", other.display()).into());
    let run = pushing.sh(&root, "git push");
    assert!(run.code == Some(1) && run.stderr.contains("/nowhere/fairway is gone, so git push fails"), "{run:#?}");
}

/// A rule about the command and its flags holds for pushes that a program makes, too.
#[test]
fn rule_about_the_command_holds_for_pushes_of_programs() {
    let rule = |more: &str| {
        let head = "\n[[guard.rules]]\nname = \"no-rewrite\"\ncommand = [\"git\", \"push\"]\n";
        format!("{head}{more}action = \"deny\"\nreason = \"ask a person\"\n")
    };
    let in_script = |line: &str| format!("printf '%s' '{line}' >../x.sh; sh ../x.sh");
    let prepared = |rule: &str| {
        let pushing = Pushing::under(rule, &[]);
        let root = pushing.world.root();
        pushing.world.git(&root, &["push", "--quiet", "origin", "main:side", "main:other"]);
        pushing.sh(&root, "git commit --quiet --allow-empty -m one").exits(0);
        (pushing, root)
    };
    // About force: a push that adds, or deletes, is none of it.
    let (pushing, root) = prepared(&rule("flags = [\"--force\", \"-f\"]\n"));
    pushing.passes(&root, &in_script("git push --quiet"));
    pushing.sh(&root, "git commit --quiet --amend --allow-empty -m two").exits(0);
    for line in [
        "git push -f", "git push --no-verify -f", "git push origin +main", "git push --force-with-lease",
        "git push --mirror",
    ] {
        pushing.denied(&root, &in_script(line));
    }
    pushing.passes(&root, &in_script("git push --quiet origin --delete side"));
    // About deletions.
    let (pushing, root) = prepared(&rule("flags = [\"--delete\", \"-d\"]\n"));
    pushing.passes(&root, &in_script("git push --quiet"));
    for line in
        ["git push origin :side", "git push origin --delete side", "git push --prune origin refs/heads/*:refs/heads/*"]
    {
        pushing.denied(&root, &in_script(line));
    }
    pushing.sh(&root, "git commit --quiet --amend --allow-empty -m two").exits(0);
    pushing.passes(&root, &in_script("git push --quiet -f origin main"));
    // About every push.
    let (pushing, root) = prepared(&rule(""));
    for line in ["git push", "git push --no-verify", "git push origin main:new", "git push origin :side", "git push -f"]
    {
        pushing.denied(&root, &in_script(line));
    }
    pushing.sh(&root, "git fetch --quiet && git status && git log -1").exits(0);
}

#[test]
fn lanes_submodules_and_rules_that_change_are_judged_alike() {
    let pushing = Pushing::new(&[]);
    let root = pushing.world.root();
    pushing
        .sh(&root, "git worktree add --quiet ../lane -b lane && cd ../lane && git push --quiet origin lane")
        .exits(0);
    let lane = pushing.world.dir().join("lane");
    pushing.sh(&lane, "git commit --quiet --amend --allow-empty -m other").exits(0);
    pushing.denied(&lane, "git push -f origin lane");
    let add = "git -c protocol.file.allow=always submodule --quiet add ../remote.git sub && cd sub && git checkout --quiet -B main";
    pushing.sh(&root, add).exits(0);
    let sub = root.join("sub");
    pushing.sh(&sub, "git -c user.name=a -c user.email=a@b commit --quiet --amend --allow-empty -m sub").exits(0);
    pushing.denied(&sub, "git push -f origin main");
    // The rules that are in force at the push decide: the trusted ones, until a changed text is trusted.
    let config = root.join(".fairway.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replace(RULE, "")).unwrap();
    pushing.denied(&lane, "git push -f origin lane");
    pushing.world.run(["trust"]).exits(0);
    pushing.sh(&lane, "git push -f origin lane").exits(0);
}

#[test]
fn hooks_of_the_repository_run_with_arguments_input_and_exit_code() {
    let pushing = Pushing::new(&[]);
    let root = pushing.world.root();
    let log = "{ echo \"${0##*/} $*\"; cat; } >>../hooks.log";
    for (directory, set) in [(".git/hooks", "true"), (".husky", "git config core.hooksPath .husky")] {
        pushing.hook(directory, "pre-push", &format!("{log}; exit $(cat ../exit)"));
        pushing.hook(directory, "commit-msg", "echo hooked >>\"$1\"; exit $(cat ../exit)");
        pushing.sh(&root, set).exits(0);
        fs::write(pushing.world.dir().join("exit"), "0").unwrap();
        pushing.sh(&root, "git commit --quiet --allow-empty -m text").exits(0);
        assert_eq!(pushing.sh(&root, "git log -1 --format=%B").stdout.trim(), "text\nhooked", "{directory}");
        pushing.sh(&root, "git push --quiet origin main").exits(0);
        let seen = fs::read_to_string(pushing.world.dir().join("hooks.log")).unwrap();
        let head = pushing.sh(&root, "git rev-parse HEAD").stdout.trim().to_owned();
        assert!(seen.starts_with("pre-push origin ../remote.git\n"), "{directory}: {seen}");
        assert!(seen.contains(&format!("refs/heads/main {head} refs/heads/main ")), "{directory}: {seen}");
        fs::remove_file(pushing.world.dir().join("hooks.log")).unwrap();
        fs::write(pushing.world.dir().join("exit"), "7").unwrap();
        let head = pushing.sh(&root, "git rev-parse HEAD").stdout;
        assert!(pushing.sh(&root, "git commit --quiet --allow-empty -m no").code != Some(0), "{directory}");
        assert_eq!(pushing.sh(&root, "git rev-parse HEAD").stdout, head, "{directory}");
        let remote = pushing.remote();
        assert!(pushing.sh(&root, "git push --quiet origin HEAD~1:refs/heads/new").code != Some(0), "{directory}");
        assert_eq!(pushing.remote(), remote, "{directory}");
        fs::write(pushing.world.dir().join("exit"), "0").unwrap();
        // The guard goes before them.
        pushing.sh(&root, "git commit --quiet --amend --allow-empty -m other").exits(0);
        let _ = fs::remove_file(pushing.world.dir().join("hooks.log"));
        pushing.denied(&root, "git push -f origin main");
        assert!(!pushing.world.dir().join("hooks.log").exists(), "{directory}");
        pushing.sh(&root, "git reset --quiet --hard origin/main").exits(0);
    }
}

#[test]
fn hooks_that_git_runs_often_are_there_only_for_a_repository_that_has_them() {
    let mut pushing = Pushing::new(&[]);
    let root = pushing.world.root();
    let directory = |pushing: &Pushing| PathBuf::from(pushing.sh(&root, "git config core.hooksPath").stdout.trim());
    assert!(directory(&pushing).join("pre-push").exists());
    assert!(!directory(&pushing).join("reference-transaction").exists());
    pushing.hook(".git/hooks", "reference-transaction", "echo \"ref $1\" >>../refs.log");
    pushing.env = Pushing::launched(&pushing.world, "s2", &[]);
    pushing.sh(&root, "git commit --quiet --allow-empty -m text").exits(0);
    assert!(fs::read_to_string(pushing.world.dir().join("refs.log")).unwrap().contains("ref committed"));
    assert!(!directory(&pushing).join("post-index-change").exists());
}

#[test]
fn hook_in_a_usual_repository_starts_no_other_git() {
    let pushing = Pushing::new(&[]);
    let root = pushing.world.root();
    pushing.world.run(["lane", "add", "ui", "--create-worktree"]).exits(0);
    for directory in [root.clone(), root.join(".fairway/worktrees/ui")] {
        let trace = pushing.world.dir().join("trace");
        let text = format!("GIT_TRACE={} git commit --quiet --allow-empty -m text", trace.display());
        pushing.sh(&directory, &text).exits(0);
        let trace = fs::read_to_string(trace).unwrap();
        assert!(trace.contains("git-hooks") && !trace.contains("rev-parse"), "{trace}");
    }
}

#[test]
fn settings_of_the_user_are_kept_and_nothing_is_set_without_such_a_rule() {
    let pushing = Pushing::new(&[
        "--env", "GIT_CONFIG_COUNT=1", "--env", "GIT_CONFIG_KEY_0=user.nick", "--env", "GIT_CONFIG_VALUE_0=ann",
    ]);
    let root = pushing.world.root();
    assert_eq!(pushing.sh(&root, "git config user.nick").stdout, "ann\n");
    assert_eq!(pushing.env.get(&OsString::from("GIT_CONFIG_COUNT")), Some(&OsString::from("2")));
    pushing.sh(&root, "git commit --quiet --amend --allow-empty -m other").exits(0);
    pushing.denied(&root, "git push -f");
    // Under another role's rule no session pays for it.
    let config = root.join(".fairway.toml");
    let text = fs::read_to_string(&config).unwrap().replace("effect =", "roles = [\"other\"]\neffect =");
    fs::write(&config, text).unwrap();
    pushing.world.run(["trust"]).exits(0);
    let env = Pushing::launched(&pushing.world, "s2", &[]);
    assert!(!env.keys().any(|name| name.to_string_lossy().starts_with("GIT_CONFIG")), "{env:?}");
}

#[test]
fn text_of_a_push_that_skips_the_hook_is_denied() {
    let pushing = Pushing::new(&[]);
    for text in [
        "git push -f",
        "git push --delete origin x",
        "git push origin :x",
        "git push --no-verify",
        "git -c core.hooksPath=/dev/null push",
        "git -c core.hookspath= push origin main",
        "GIT_CONFIG_COUNT=0 git push",
        "unset GIT_CONFIG_COUNT; git push",
        "env -u GIT_CONFIG_COUNT git push",
        "env --unset=GIT_CONFIG_KEY_0 git push",
        "env -i PATH=\"$PATH\" git push",
        "sudo git push",
    ] {
        let run = check_text(&pushing.world, text);
        assert_eq!(run.code, Some(5), "{text}: {run:?}");
    }
    for text in [
        "git push",
        "git push origin main",
        "git commit --no-verify -m x",
        "git -c core.hooksPath=/dev/null commit -m x",
    ] {
        check_text(&pushing.world, text).exits(0);
    }
}
