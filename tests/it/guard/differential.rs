//! Real shells are the judge: whatever makes them call git with a forced push must have been denied.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use super::{cases, judged, no_force_push};
use crate::common::scratch;

const BYPASSES: &str = include_str!("../../data/guard/bypasses.txt");
const HARMLESS: &str = include_str!("../../data/guard/harmless.txt");

/// The programs that may really run: none leaves the directory.
const TOOLS: &[&str] = &[
    "awk", "base64", "bash", "cat", "chmod", "cp", "cut", "dash", "diff", "env", "expr", "find", "flock", "grep",
    "head", "ls", "mkdir", "mktemp", "mv", "nice", "nohup", "perl", "printf", "python3", "rev", "script", "sed", "seq",
    "setsid", "sh", "sort", "stdbuf", "tail", "tee", "timeout", "touch", "tr", "true", "false", "uniq", "wc", "which",
    "xargs", "make", "split", "tar", "ln", "ionice", "taskset", "basename", "dirname", "date", "id", "readlink",
    "realpath",
];

/// A folder in which lines are run: its programs, among them the canary, and what the canary saw.
pub(super) struct Cage {
    dir: tempfile::TempDir,
}

impl Cage {
    pub(super) fn new() -> Self {
        let dir = scratch::directory("fwcage");
        let bin = dir.path().join("bin");
        for name in ["bin", "tmp", "home", "work"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        // One write a call: what a killed line has left may run beside the next one.
        let canary = |words: &str| format!("#!/bin/sh\nprintf '%s\\0' {words} ---- >>{}/seen\n", dir.path().display());
        for (name, text) in [
            ("git", canary("\"$@\"")),
            ("git-push", canary("push \"$@\"")),
            // Those that would do more than run what they are given.
            ("sudo", "#!/bin/sh\nwhile :; do case $1 in -u) shift 2;; --) shift; break;; -*|*=*) shift;; *) break;; esac; done\nexec \"$@\"\n".to_owned()),
            ("busybox", "#!/bin/sh\nexec \"$@\"\n".to_owned()),
        ] {
            fs::write(bin.join(name), text).unwrap();
            fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        for tool in TOOLS {
            let found =
                ["/usr/bin", "/bin"].iter().map(|folder| Path::new(folder).join(tool)).find(|path| path.exists());
            if let Some(found) = found {
                symlink(found, bin.join(tool)).unwrap();
            }
        }
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The line as it is run here: what would leave the folder leads back into it.
    pub(super) fn moved(&self, line: &str) -> String {
        let dir = self.dir.path().display().to_string();
        line.replace("/usr/local/bin/", &format!("{dir}/bin/"))
            .replace("/usr/bin/", &format!("{dir}/bin/"))
            .replace("/usr/lib/git-core/", &format!("{dir}/bin/"))
            .replace("/tmp", &format!("{dir}/tmp"))
    }

    /// Runs a line; answers whether the canary saw a forced push.
    pub(super) fn forces(&self, shell: &str, line: &str) -> bool {
        let work = self.path("work");
        let _ = fs::remove_dir_all(&work);
        fs::create_dir(&work).unwrap();
        let _ = fs::remove_file(self.path("seen"));
        symlink(self.path("bin/git"), work.join("git")).unwrap();
        let mut command = Command::new("timeout");
        command
            .args(["-s", "KILL", "3", shell, "-c", line])
            .env_clear()
            .env("PATH", self.path("bin"))
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.path("tmp"))
            .env("LC_ALL", "C.UTF-8")
            .current_dir(&work)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if line.contains('\0') || command.status().is_err() {
            return false;
        }
        let seen = fs::read_to_string(self.path("seen")).unwrap_or_default();
        // A word may hold a newline.
        seen.split("----\0").any(|call| is_forced(&call.split_terminator('\0').collect::<Vec<_>>()))
    }
}

/// Whether these words after `git` are a forced push: with `push` as the command, and a flag that git knows.
fn is_forced(words: &[&str]) -> bool {
    const VALUED: &[&str] = &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env"];
    let mut words = words.iter();
    loop {
        match words.next() {
            Some(word) if VALUED.contains(word) => drop(words.next()),
            Some(word) if word.starts_with('-') => {}
            Some(&"push") => break,
            _ => return false,
        }
    }
    words.take_while(|word| **word != "--").any(|word| {
        let cluster = word.strip_prefix('-').filter(|cluster| !cluster.starts_with('-'));
        let long = word.split('=').next().unwrap_or_default();
        let is_long =
            ["--force", "--force-with-lease", "--mirror"].iter().any(|flag| long.len() > 4 && flag.starts_with(long));
        is_long || word.starts_with('+') || cluster.is_some_and(|letters| letters.contains('f'))
    })
}

/// Lines that are not to be run at all, wherever it is: they look for other processes.
pub(super) fn may_run(line: &str) -> bool {
    !["kill", "/dev/tty", "sleep 2"].iter().any(|word| line.contains(word))
}

fn walk(shell: &str, lines: &[String]) -> (usize, Vec<String>) {
    let (next, forced, wrong) = (AtomicUsize::new(0), AtomicUsize::new(0), Mutex::new(Vec::new()));
    let rules = no_force_push();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let cage = Cage::new();
                while let Some(line) = lines.get(next.fetch_add(1, Relaxed)) {
                    let line = cage.moved(line);
                    if !may_run(&line) || !cage.forces(shell, &line) {
                        continue;
                    }
                    forced.fetch_add(1, Relaxed);
                    if judged(&rules, &line).allowed {
                        wrong.lock().unwrap().push(line);
                    }
                }
            });
        }
    });
    (forced.into_inner(), wrong.into_inner().unwrap())
}

/// Lines that differ from the lists by what stands around them.
pub(super) fn variants() -> Vec<String> {
    let mut lines = Vec::new();
    let forced = ["git push -f", "'git' pu\"sh\" $'\\x2df'", "git push --force origin", "git -C . push origin +main"];
    let around = [
        "echo $(echo 1 # )\nX)",
        "echo \"$(X # \")\"\n)\"",
        "a=1 b=2 X",
        "{ X; } 2>&1",
        "X;X",
        "(X);",
        "((0)) || X",
        "[[ a == b ]] || X",
        "if [[ -n a ]]; then X; fi",
        "case a in b) ;; a) X ;; esac",
        "for ((;;)); do X; break; done",
        "cat <<E | sh\nX\nE",
        "cat <<'E' | bash\nX\nE",
        "sh <<E\nX\nE",
        "echo `X`",
        "echo \"`X`\"",
        "y=`X`",
        "f() { X; }; f",
        "function f() { X; }; f",
        "f() { X\n}\nf",
        "! X",
        "time X",
        "X # x",
        "# '\nX",
        "echo '#'; X",
        "echo a#b; X",
        "echo \"a'b\"; X",
        "echo 'a\"b'; X",
        "echo \\'; X",
        "echo $'a\\tb'; X",
        "echo \"${x:-'}\"; X",
        "echo ${x:-\"}\"}; X",
        "cat <<E\n'\nE\nX",
        "cat <<\"E\"\n$(\nE\nX",
        "cat <<E\n\\$(\nE\nX",
        "cat <<-E\n\ta\n\tE\nX",
        "cat <<E; X\na\nE",
        "cat <<E && X\na\nE",
        "cat <<A; cat <<B; X\n1\nA\n2\nB",
        "echo ${x//'/a/b'/}; X",
        "echo $((1 + (2 * 3))); X",
        "echo $(( (1) )); X",
        "echo {a,b}; X",
        "echo a{; X",
        "echo }; X",
        "[ a = a ] && X",
        "test a || X; X",
        "true &&\nX",
        "true |\nX",
        "true &\nX",
        "while true; do X; break; done",
        "until X; do break; done",
        "X &\nwait",
        "exec 3>&1; X >&3",
        "X <<< a",
        "<<< a X",
        "X 2>/dev/null >&2",
        "set -e; X",
        "set -x; X",
        "trap : EXIT; X",
        "eval 'X'",
        "eval \"X\"",
        "bash -c 'X'",
        "sh -ec 'X'",
        "env -i PATH=$PATH X",
        "command X",
        "nice -n 1 X",
        "timeout 2 X",
        "nohup X",
        "setsid -w X",
        "xargs -n1 X </dev/null",
        "find . -maxdepth 0 -exec X \\;",
        "printf a | while read x; do X; done",
        "let x=1; X",
        "declare x=1; X",
        "local x; X",
        "x+=1; X",
        "x[0]=1; X",
        "a=(1 2); X",
        "a=(1\n2\n)\nX",
        "echo !(a); X",
        "shopt -s extglob; X",
        "echo @(a|b); X",
        "[[ a =~ ^(a|b)$ ]] && X",
        "[[ a == @(a|b) ]] && X",
        "[[ ! a ]] || X",
        "[[ ( a ) ]] && X",
        "select x in a; do X; break; done <<< 1",
        "coproc X; wait",
        "echo >(X)",
        "cat <(X)",
        ": ${y:=$(X)}",
        ": \"${y:=$(X)}\"",
        ": ${#y} ; X",
        ": $# ; X",
        ": $#; X",
        ": ${y#a}; X",
        ": ${y##*/}; X",
        ": ${y%%#*}; X",
        ": $'\\''; X",
        ": \"\\\"\"; X",
        ": \"\\\\\"; X",
        ": '\\'; X",
        ": \\\\; X",
        ": a\\\nb; X",
        ":;# a\nX",
        ":\t;\tX",
        ": & X",
        ": && : || : ; X",
        "{ { { X; }; }; }",
        "( ( X ) )",
        "if :; then :; else :; fi; X",
        "if false; then :; elif X; then :; fi",
        "case a in *) X; esac",
        "case a in (a) X;; esac",
        "case a in a) ;& b) X;; esac",
    ];
    for text in forced {
        for around in around {
            lines.push(around.replace('X', text));
        }
    }
    lines
}

#[test]
fn commands_run_by_real_shells_were_denied() {
    let mut lines: Vec<String> = cases(BYPASSES);
    lines.extend(variants());
    for shell in ["bash", "dash"] {
        let (forced, wrong) = walk(shell, &lines);
        assert!(wrong.is_empty(), "{shell}: {wrong:#?}");
        // The canary must have seen them: else this test could not go red.
        assert!(forced >= 250, "in {shell} the canary saw only {forced} forced pushes");
    }
}

#[test]
fn harmless_lines_force_nothing() {
    let cage = Cage::new();
    for line in cases(HARMLESS).iter().filter(|line| may_run(line)) {
        assert!(!cage.forces("bash", &cage.moved(line)), "{line}");
    }
}
