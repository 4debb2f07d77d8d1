//! `fairway sandbox` and sessions in a sandbox, with real bubblewrap.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use crate::common::{TestProject, fixtures, require};

/// A project with the lane `api` in a worktree of its own; `None` without bubblewrap.
fn world() -> Option<TestProject> {
    require::sandbox().then(|| {
        let world = TestProject::with_git();
        let root = world.root();
        world.git(&root, &["config", "user.name", "Ann"]);
        world.git(&root, &["config", "user.email", "ann@example.invalid"]);
        world.run(["lane", "add", "api", "--create-worktree", "--quiet"]).exits(0);
        world
    })
}

fn sh(world: &TestProject, script: &str) -> crate::common::test_project::CommandOutput {
    world.run(["sandbox", "run", "--lane", "api", "--", "sh", "-c", script])
}

#[test]
fn transcript() {
    let Some(world) = world() else { return };
    let seen = world.transcript(&[
        "fairway sandbox run --lane api -- sh -c 'echo $FAIRWAY_SANDBOX; exit 3'",
        "fairway sandbox run -- true",
        "fairway sandbox run --lane other -- true",
        "fairway sandbox check --network some",
        "fairway sandbox explain api --quiet",
        "fairway sandbox probe",
        "fairway sandbox forward -- sh -c 'echo $NODE_USE_ENV_PROXY; exit 6'",
        "fairway sandbox apart --lane api -- sh -c 'exit 4'",
        "fairway sandbox apart --checkout . -- true",
    ]);
    // Which toolchains there are is that of the machine.
    assert!(seen.starts_with(
        "$ fairway sandbox run --lane api -- sh -c 'echo $FAIRWAY_SANDBOX; exit 3'\nnamespace\n[exit 3]\n"
    ));
    assert!(seen.contains("error: a sandbox is for a lane, and [world]/project is in none\n"), "{seen}");
    assert!(seen.contains("error: there is no lane 'other'"), "{seen}");
    assert!(seen.contains("must be none, proxy or open"), "{seen}");
    assert!(seen.contains("\n[world]/project/.fairway/worktrees/api\n"), "{seen}");
    assert!(seen.contains("$ fairway sandbox apart --lane api -- sh -c 'exit 4'\n[exit 4]\n"), "{seen}");
    assert!(seen.contains("; exit 6'\n1\n[exit 6]\n"), "{seen}");
    assert!(seen.contains(". is none of a landing\n[exit 2]\n"), "{seen}");
}

/// The probes that only root can make.
const OF_ROOT: [&str; 5] = ["device", "kernel-setting", "raw-socket", "remount", "type-into-terminal"];

#[test]
fn each_probe_is_done_outside_and_denied_inside() {
    if !require::sandbox() {
        return;
    }
    let world = TestProject::new();
    let view = world.json(["sandbox", "check"]);
    assert_eq!(view["passed"], true, "{view:#}");
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("BENCHMARKS.md")).unwrap();
    let is_root = nix::unistd::Uid::effective().is_root();
    let probes = view["probes"].as_array().unwrap();
    for probe in probes {
        let name = probe["name"].as_str().unwrap();
        assert_eq!(probe["inside"], false, "{probe}");
        // Without IPv6 and on a machine that protects processes from their siblings there is no control.
        let is_tried = probe["outside"] == true || !is_root && OF_ROOT.contains(&name);
        assert!(is_tried || matches!(name, "tcp6" | "process-memory" | "user-namespace"), "{probe}");
        assert!(
            page.contains(&format!("| `{name}` | {} |", probe["what"].as_str().unwrap())),
            "{name} is not in BENCHMARKS.md"
        );
    }
    assert!(probes.len() >= 70);
    let needs = view["needs"].as_array().unwrap();
    assert!(needs.len() > 15 && needs.iter().all(|need| need["works"] == true), "{view:#}");

    // With the network of the machine, what it opens is shown as open, and nothing else is.
    let open = world.json(["sandbox", "check", "--network", "open"]);
    assert_eq!(open["passed"], true);
    for probe in open["probes"].as_array().unwrap() {
        assert!(probe["inside"] == false || probe["is_open"] == true, "{probe}");
    }
    assert!(open["probes"].as_array().unwrap().iter().any(|probe| probe["name"] == "tcp" && probe["inside"] == true));

    // The proxy lets through what is listed, and none of the tricks.
    let proxy = world.json(["sandbox", "check", "--network", "proxy"]);
    assert_eq!(proxy["passed"], true, "{proxy:#}");
    let tricks = || {
        proxy["probes"].as_array().unwrap().iter().filter(|probe| probe["name"].as_str().unwrap().starts_with("host-"))
    };
    assert!(tricks().count() > 12);
    for probe in tricks() {
        assert!(probe["outside"] == true && probe["inside"] == false, "{probe}");
        assert!(probe["why"].as_str().unwrap().contains("is closed in this sandbox: "), "{probe}");
    }
    let needs = proxy["needs"].as_array().unwrap();
    assert!(needs.iter().any(|need| need["name"] == "proxy-tunnel" && need["works"] == true));
}

#[test]
fn commits_inside_are_on_the_lanes_branch_and_nothing_else_leaves() {
    let Some(world) = world() else { return };
    let (root, lane) = (world.root(), world.root().join(".fairway/worktrees/api"));
    let main = world.git(&root, &["rev-parse", "main"]);
    let config = fs::read(root.join(".git/config")).unwrap();
    let planted = format!("echo ran >'{}'", world.dir().join("planted").display());
    let done = sh(
        &world,
        &format!(
            "echo work >work.txt && git add work.txt && git commit --quiet --message=inside && git branch -f main HEAD && \
             git config core.fsmonitor \"{planted}\" && git config core.hooksPath /tmp && git tag inside && \
             echo secret >/tmp/left && echo '[alias]' >.mcp.json && git log -1 --format=%an"
        ),
    )
    .exits(0);
    assert_eq!(done.stdout, "Ann\n");
    assert!(done.stderr.contains("would run on your machine: .mcp.json is new in the lane api"), "{}", done.stderr);
    assert!(done.stderr.contains("1 new commit on lane/api, now at "), "{}", done.stderr);
    assert_eq!(world.git(&root, &["log", "-1", "--format=%s", "lane/api"]), "inside\n");
    assert_eq!(world.git(&root, &["rev-parse", "main"]), main);
    assert_eq!(world.git(&root, &["tag"]), "");
    assert_eq!(fs::read(root.join(".git/config")).unwrap(), config);
    assert_eq!(world.git(&lane, &["status", "--porcelain"]), "?? .mcp.json\n");
    assert!(!world.dir().join("planted").exists());
    // Of what was closed nothing is left in the lane.
    for name in [".vscode", ".idea", ".cursor"] {
        assert!(!lane.join(name).exists(), "{name}");
    }
    assert_eq!(world.json(["lane", "diff", "api"])["files"].as_array().unwrap().len(), 2);

    // An amended commit replaces it. A branch that was moved outside meanwhile is left alone.
    sh(&world, "git commit --quiet --amend --message=amended").exits(0);
    assert_eq!(world.git(&root, &["log", "-1", "--format=%s", "lane/api"]), "amended\n");
    let gate = lane.join("gate");
    let mut child = world
        .fairway([
            "sandbox",
            "run",
            "--lane",
            "api",
            "--",
            "sh",
            "-c",
            "touch gate; read line; git commit --allow-empty -qm late",
        ])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !gate.exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    sh(&world, "true").exits(4);
    let kept = world.run(["lane", "rm", "api", "--json"]).refuses(5, "unsaved_work");
    assert!(kept.stderr.contains("a sandbox works in it"), "{}", kept.stderr);
    world.git(&lane, &["commit", "--quiet", "--allow-empty", "--message=outside"]);
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    let notes = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(notes.contains("is kept as refs/fairway/sandbox/api"), "{notes}");
    assert_eq!(world.git(&root, &["log", "-1", "--format=%s", "lane/api"]), "outside\n");
    assert_eq!(world.git(&root, &["log", "-1", "--format=%s", "refs/fairway/sandbox/api"]), "late\n");
    // With the lane goes what its sandboxes have left.
    assert!(root.join(".fairway/sandbox/api").exists());
    fs::remove_file(lane.join(".mcp.json")).unwrap();
    fs::remove_file(gate).unwrap();
    world.git(&root, &["merge", "--quiet", "lane/api"]);
    world.run(["lane", "rm", "api"]).exits(0);
    assert!(!root.join(".fairway/sandbox/api").exists());
}

#[test]
fn hostile_repository_of_a_sandbox_brings_nothing_out() {
    let Some(world) = world() else { return };
    let root = world.root();
    let tip = world.git(&root, &["rev-parse", "lane/api"]);
    // A pipe instead of the branch: the reader does not wait.
    sh(&world, "d=$(git rev-parse --git-common-dir); git pack-refs --all; mkfifo \"$d/refs/heads/lane/api\" || mkdir -p \"$d/refs/heads/lane\" && \
        mkfifo \"$d/refs/heads/lane/api\"; true")
    .exits(0);
    assert_eq!(world.git(&root, &["rev-parse", "lane/api"]), tip);
    // Objects of another place.
    let done = sh(&world, "git commit --quiet --allow-empty --message=x; d=$(git rev-parse --git-common-dir); \
        mv \"$d/objects/info\" \"$d/objects/old\" && mkdir \"$d/objects/info\" && echo /etc >\"$d/objects/info/alternates\"")
    .exits(7);
    assert!(done.stderr.contains("names other objects than it was given"), "{}", done.stderr);
    assert_eq!(world.git(&root, &["rev-parse", "lane/api"]), tip);
    assert!(done.stderr.contains("its repository is kept with the number 1"), "{}", done.stderr);
    // The next sandbox begins anew, and the other one is kept aside.
    assert_eq!(sh(&world, "git log -1 --format=%s").exits(0).stdout, "begin\n");
    // A commit whose objects are not there.
    sh(
        &world,
        "d=$(git rev-parse --git-common-dir); mkdir -p \"$d/refs/heads/lane\"; \
        echo 1111111111111111111111111111111111111111 >\"$d/refs/heads/lane/api\"",
    )
    .exits(7);
    // A pipe in place of an object: nobody waits at it.
    let done = sh(
        &world,
        "d=$(git rev-parse --git-common-dir); git commit --quiet --allow-empty --message=pipe; \
         o=$(git rev-parse HEAD | sed 's,..,&/,'); rm -f \"$d/objects/$o\"; mkfifo \"$d/objects/$o\"",
    );
    let done = done.exits(7);
    assert!(done.stderr.contains("is neither a file nor a directory"), "{}", done.stderr);
    assert_eq!(world.git(&root, &["rev-parse", "lane/api"]), tip);
    let kept = |number: u32| root.join(format!(".fairway/sandbox/api/refused-{number}/git/HEAD")).is_file();
    assert!(kept(1) && kept(2) && kept(3));
}

/// Commits that are not taken back stay until a person takes them or gives them up.
#[test]
fn refused_commits_of_a_sandbox_are_kept_until_they_are_taken_back() {
    let Some(world) = world() else { return };
    let root = world.root();
    let limit = |limit: &str| {
        let text = fs::read_to_string(root.join(".fairway.toml")).unwrap();
        let text = text.split("[sandbox]").next().unwrap().to_owned();
        fs::write(root.join(".fairway.toml"), format!("{text}[sandbox]\ntake_back_limit = \"{limit}\"\n")).unwrap();
        world.run(["trust"]).exits(0);
    };
    limit("64KiB");
    for name in ["one", "two", "three"] {
        let script = format!("head -c 99999 /dev/urandom >{name}; git add {name}; git commit --quiet --message={name}");
        let done = sh(&world, &script).exits(7);
        assert!(done.stderr.contains("sandbox.take_back_limit is 65536"), "{}", done.stderr);
    }
    // A small one goes on meanwhile.
    sh(&world, "git commit --quiet --allow-empty --message=small").exits(0);
    let items = |kind: &str| {
        let board = world.json(["status"]);
        let all: Vec<_> =
            board["needs_you"].as_array().unwrap().iter().filter(|need| need["kind"] == kind).cloned().collect();
        all
    };
    let item = &items("take_back")[0];
    assert_eq!(item["line"], "the commits of 3 sandbox runs of api were not taken back");
    assert_eq!(item["commands"][1]["command"], "fairway sandbox take-back api --discard 1");
    for name in ["one", "two", "three"] {
        fs::remove_file(root.join(".fairway/worktrees/api").join(name)).unwrap();
    }
    let stays = world.run(["lane", "rm", "api", "--json"]).refuses(5, "unsaved_work");
    assert!(stays.stderr.contains("fairway sandbox take-back api"), "{}", stays.stderr);
    assert_eq!(world.run(["sandbox", "take-back", "api", "--quiet"]).exits(5).stdout, "1\n2\n3\n");
    world.run(["sandbox", "take-back", "api", "--discard", "3"]).exits(0);
    world.run(["sandbox", "take-back", "api", "--discard", "3", "--json"]).refuses(3, "not_found");
    limit("off");
    // The branch has moved since, so that they get refs of their own.
    let taken = world.run(["sandbox", "take-back", "api"]).exits(0).stdout;
    assert!(taken.contains("refs/fairway/sandbox/api\n") && taken.contains("refs/fairway/sandbox/api-2\n"), "{taken}");
    let subject = |name: &str| world.git(&root, &["log", "-1", "--format=%s", name]);
    let (one, two) = (subject("refs/fairway/sandbox/api"), subject("refs/fairway/sandbox/api-2"));
    assert_eq!((one.as_str(), two.as_str(), subject("lane/api").as_str()), ("one\n", "two\n", "small\n"));
    world.git(&root, &["fsck", "--strict"]);
    assert!(items("take_back").is_empty());
    assert_eq!(world.run(["sandbox", "take-back", "api"]).exits(0).stdout, "nothing of api waits to be taken back\n");
}

/// What comes out is listed from the commits, whatever the files are, and a repository of its own stays.
#[test]
fn what_comes_out_of_a_sandbox_is_named_and_no_repository_is_among_it() {
    let Some(world) = world() else { return };
    let (root, lane) = (world.root(), world.root().join(".fairway/worktrees/api"));
    let canary = world.dir().join("canary");
    let script = format!(
        "printf '#!/bin/sh\\ntouch {}\\n' >evil.sh; chmod +x evil.sh; git init --quiet sub; cd sub; \
         git -c user.name=a -c user.email=a@a.invalid commit --quiet --allow-empty --message=a; cd ..; git add --force sub evil.sh; git commit --quiet --message=gitlink; \
         git -C sub config core.fsmonitor $PWD/evil.sh",
        canary.display()
    );
    let done = sh(&world, &script).exits(7);
    assert!(done.stderr.contains("sub is a repository that was made inside; remove sub/.git"), "{}", done.stderr);
    world.git(&lane, &["status"]);
    world.git(&lane, &["diff", "main"]);
    assert!(!canary.exists());
    fs::remove_dir_all(lane.join("sub")).unwrap();
    world.run(["sandbox", "take-back", "api"]).exits(0);

    let closed = ".claude/settings.local.json";
    let done = sh(
        &world,
        &format!(
            "blob=$(echo '{{}}' | git hash-object -w --stdin); git update-index --add --cacheinfo 100644,$blob,{closed}; \
             mkdir -p web/.cargo; echo >web/.cargo/config.toml; ln -s /etc/passwd out; git add web out; \
             git commit --quiet --message=closed; git init --quiet nested"
        ),
    )
    .exits(0);
    for note in [
        &format!("would run on your machine: {closed}, in the commits of api"),
        "would run on your machine: web/.cargo/config.toml, in the commits of api",
        "leads out of the lane: out, a link in the commits of api",
        "would run on your machine: nested/.git, when you run git there",
    ] {
        assert!(done.stderr.contains(note), "{note}: {}", done.stderr);
    }
    // Such work needs a review without a configuration.
    world.run(["lane", "edit", "api", "--sandbox", "namespace"]).exits(0);
    world.run(["task", "add", "--id", "T-1", "work", "--lane", "api"]).exits(0);
    let commit = world.git(&root, &["rev-parse", "lane/api"]);
    world.run(["claim", "T-1"]).exits(0);
    world.run(["task", "submit", "T-1", "--commit", commit.trim()]).exits(0);
    let report = world.run(["merge-ready", "T-1", "--json"]).exits(5).stdout;
    assert!(report.contains("executables_unreviewed"), "{report}");
}

/// Content without a filter that must not be left out, such as one that encrypts, is not taken.
#[test]
fn content_without_a_required_filter_is_not_taken_out_of_a_sandbox() {
    let Some(world) = world() else { return };
    let (root, lane) = (world.root(), world.root().join(".fairway/worktrees/api"));
    for (key, value) in [("required", "true"), ("clean", "tr a-z A-Z"), ("smudge", "tr A-Z a-z")] {
        world.git(&root, &["config", &format!("filter.crypt.{key}"), value]);
    }
    fs::write(lane.join(".gitattributes"), "*.key filter=crypt\n").unwrap();
    fs::write(lane.join("a.key"), "secret\n").unwrap();
    world.git(&lane, &["add", "--all"]);
    world.git(&lane, &["commit", "--quiet", "--message=key"]);
    sh(&world, "echo x >x; git add x; git commit --quiet --message=x").exits(0);
    let plain = "blob=$(echo plain | git hash-object -w --stdin); git update-index --cacheinfo 100644,$blob,a.key; \
                 git update-ref HEAD $(git commit-tree $(git write-tree) -p HEAD -m plain)";
    let done = sh(&world, plain).exits(7);
    assert!(done.stderr.contains("a.key needs the filter 'crypt'"), "{}", done.stderr);
    assert_eq!(world.git(&root, &["show", "lane/api:a.key"]), "SECRET\n");
}

/// What the agents read in the home outside of a sandbox.
const STATES: [&str; 8] = [
    ".claude", ".claude.json", ".codex", ".gemini", ".qwen", ".local/share/opencode", ".cache/opencode",
    ".config/opencode",
];

/// The files below a path with their texts.
fn texts(path: &Path, all: &mut Vec<(std::path::PathBuf, String)>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            texts(&entry.unwrap().path(), all);
        }
        all.push((path.to_owned(), String::new()));
    } else if let Ok(text) = fs::read_to_string(path) {
        all.push((path.to_owned(), text));
    }
    all.sort();
}

#[test]
fn state_of_an_agent_in_a_sandbox_is_the_lanes_own() {
    let Some(mut world) = world() else { return };
    let home = world.dir().join("home");
    for (name, text) in [
        (".claude/.credentials.json", "old"),
        (".claude/settings.json", "{}\n"),
        (".claude.json", "{\"own\":1}\n"),
        (".codex/auth.json", "old"),
        (".gemini/settings.json", "{}"),
        (".gemini/trustedFolders.json", "{}"),
        (".cache/opencode/node_modules/m", "own\n"),
        (".config/opencode/opencode.json", "{}"),
    ] {
        fs::create_dir_all(home.join(name).parent().unwrap()).unwrap();
        fs::write(home.join(name), text).unwrap();
    }
    let state = || {
        let mut all = Vec::new();
        for name in STATES {
            texts(&home.join(name), &mut all);
        }
        all
    };
    let run = |lane: &str, provider: &str, script: &str| {
        world.run(["sandbox", "run", "--lane", lane, "--provider", provider, "--", "sh", "-c", script]).exits(0).stdout
    };
    let planted = "cd; for f in .claude.json .claude/settings.json .claude/settings.local.json .claude/CLAUDE.md .claude/local/claude \
                   .claude/shell-snapshots/s.sh .claude/skills/s/SKILL.md .codex/config.toml .codex/.env .codex/hooks.json \
                   .gemini/settings.json .gemini/.env .gemini/trustedFolders.json .qwen/settings.json .qwen/extensions/e \
                   .cache/opencode/node_modules/m .local/share/opencode/bin/rg .config/opencode/opencode.json; do \
                   mkdir -p $(dirname $f); echo planted >$f; done 2>/dev/null; ln -sf /etc/planted .claude/agents; true";
    let before = state();
    for provider in ["claude", "codex", "gemini", "opencode", "qwen"] {
        run("api", provider, planted);
        assert_eq!(state(), before, "{provider}");
    }
    // The next sandbox of the lane goes on with it, beside the settings of the person. Another lane does not.
    let look = "cd; cat .claude/CLAUDE.md .claude.json .claude/settings.json; echo new >.claude/.credentials.json";
    assert_eq!(run("api", "claude", look), "planted\n{\"own\":1}\n{}\n");
    assert_eq!(run("api", "opencode", "cat ~/.cache/opencode/node_modules/m"), "planted\n");
    assert_eq!(fs::read_to_string(home.join(".claude/.credentials.json")).unwrap(), "new\n");
    let elsewhere = world.dir().join("elsewhere");
    world.git(&world.root(), &["worktree", "add", "--quiet", "-b", "lane/web", &elsewhere.display().to_string()]);
    world.run(["lane", "add", "web", "--branch", "lane/web", "--worktree", &elsewhere.display().to_string()]).exits(0);
    assert_eq!(run("web", "claude", "ls ~/.claude; test ! -e ~/.cache"), "settings.json\n");

    // Closed are lanes wherever they are, and the sockets that variables name.
    let (dir, socket) = (world.dir().join("sockets"), world.dir().join("docker.sock"));
    fs::create_dir(&dir).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    world.set("TMUX_TMPDIR", &dir);
    world.set("DOCKER_HOST", format!("unix://{}", socket.display()));
    let shown = world.json(["sandbox", "explain", "api"]);
    for path in [elsewhere, dir, socket] {
        let path = path.canonicalize().unwrap().display().to_string();
        let found = shown["paths"].as_array().unwrap().iter().find(|one| one["path"] == path.as_str());
        assert_eq!(found.unwrap_or_else(|| panic!("{path}: {shown}"))["access"], "closed");
    }
    sh(&world, "test -z \"$(ls ../../../../sockets)\" && git status").exits(0);

    // A file that is stdin can be read, and not opened again for writing.
    let input = world.dir().join("input");
    fs::write(&input, "given\n").unwrap();
    let mut command =
        world.fairway(["sandbox", "run", "--lane", "api", "--", "sh", "-c", "cat; echo x >>/proc/self/fd/0"]);
    let output = command.stdin(fs::File::open(&input).unwrap()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "given\n");
    assert_eq!(fs::read_to_string(&input).unwrap(), "given\n");
}

#[test]
fn sandbox_that_cannot_be_made_is_refused_with_the_fix() {
    let Some(mut world) = world() else { return };
    let bin = world.dir().join("bin");
    fs::create_dir(&bin).unwrap();
    let git =
        std::env::split_paths(&std::env::var_os("PATH").unwrap()).map(|dir| dir.join("git")).find(|git| git.exists());
    std::os::unix::fs::symlink(git.unwrap(), bin.join("git")).unwrap();
    world.set("PATH", &bin);
    for call in [
        &["sandbox", "run", "--lane", "api", "--", "true"][..],
        &["sandbox", "check"],
        &["session", "launch", "--lane", "api", "--role", "dev", "--sandbox", "namespace", "--", "/bin/true"],
    ] {
        let error = world.run(with_json(call)).refuses(7, "sandbox_unavailable").error();
        assert_eq!(error["message"], "no sandbox can be made here: bubblewrap is not installed");
        assert!(error["hint"].as_str().unwrap().contains("install bubblewrap"), "{error}");
    }
    // A kernel that allows no namespaces.
    fs::write(bin.join("bwrap"), "#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
        .unwrap();
    fs::set_permissions(bin.join("bwrap"), fs::Permissions::from_mode(0o755)).unwrap();
    let error = world.run(with_json(&["sandbox", "run", "--lane", "api", "--", "true"]));
    let error = error.refuses(7, "sandbox_unavailable").error();
    assert!(error["message"].as_str().unwrap().ends_with("setting up uid map: Permission denied"), "{error}");
    assert!(world.json(["session", "list", "--all"]).as_array().unwrap().is_empty());
}

/// A server of the machine that says hello to each request for a path, and keeps its connections; its port.
fn answering_server() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
                while let Some(first) = lines.next() {
                    lines.by_ref().find(String::is_empty);
                    let word = if first.starts_with("GET /") { "hello" } else { "what?" };
                    let _ = stream.write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{word}").as_bytes());
                }
            });
        }
    });
    port
}

fn with_json<'a>(words: &[&'a str]) -> Vec<&'a str> {
    [&["--json"], words].concat()
}

#[test]
fn session_in_a_sandbox_works_as_itself_and_no_further() {
    let Some(world) = world() else { return };
    world.real_time();
    let root = world.root();
    let config = root.join(".fairway.toml");
    let (open, closed) = (answering_server(), answering_server());
    let settings = fs::read_to_string(&config).unwrap() + "\n[roles.dev]\nsandbox = \"namespace\"\n";
    let with_hosts = |hosts: &str| {
        fs::write(&config, format!("{settings}[sandbox]\nnetwork = \"proxy\"\nhosts = [{hosts}]\n")).unwrap();
        world.run(["trust"]).exits(0);
    };
    with_hosts(&format!("\"127.0.0.1:{open}\", \"localhost:{closed}\""));
    let foreign = world.run(["exec", "spawn", "--quiet", "--", "true"]).exits(0).stdout.trim().to_owned();
    world.run(["task", "add", "--id", "T-1", "work", "--lane", "api"]).exits(0);
    world.run(["lane", "add", "web", "--create-worktree"]).exits(0);
    world.run(["task", "add", "--id", "T-2", "other work", "--lane", "web"]).exits(0);
    let refused = world.run(with_json(&["session", "launch", "--role", "dev", "--", "true"])).refuses(5, "no_worktree");
    assert!(refused.stderr.contains("a sandbox is for a lane"), "{}", refused.stderr);
    let script = format!(
        "f='{}'; $f claim T-1; git commit --quiet --allow-empty --message=done; \
         $f evidence add T-1 --result pass --summary ok --commit $(git rev-parse HEAD); $f task submit T-1; \
         $f exec spawn --foreground --pty -- sh -c 'test -t 0 && echo \"job $FAIRWAY_SANDBOX\"'; \
         $f exec spawn --env A=b -- true; echo \"variable $?\"; $f exec log {foreign}; echo \"foreign $?\"; \
         $f exec spawn --queue other -- true; echo \"queue $?\"; echo \"jobs $($f exec list --quiet | wc -l)\"; \
         ask() {{ curl --silent --show-error --max-time 20 \"$@\" 2>&1; }}; echo \"clear $(ask http://127.0.0.1:{open}/x http://127.0.0.1:{open}/y)\"; \
         echo \"tunnel $(ask --proxytunnel http://127.0.0.1:{open}/x)\"; echo \"around $(ask --noproxy '*' http://127.0.0.1:{open}/x)\"; \
         ask http://localhost:{closed}/; ask --proxytunnel http://localhost:{closed}/ >/dev/null; ask http://evil.invalid/; \
         touch asked; while [ ! -e opened ]; do sleep 0.05; done; echo \"anew $(ask http://localhost:{closed}/)\"; \
         $f task show T-1 --session s2; echo \"other $?\"; \
         $f evidence run T-1 -- sh -c 'echo \"check $FAIRWAY_SANDBOX, store $(ls {}/.fairway)\"'; echo \"run $?\"; \
         $f evidence run T-2 -- true; echo \"away $?\"; $f prime; echo '{{}}' | $f hook nobody PreToolUse; echo \"hook $?\"; \
         echo \"own $OWN other $OTHER store $(ls {}/.fairway)\"",
        env!("CARGO_BIN_EXE_fairway"),
        root.display(),
        root.display()
    );
    let launch = ["session", "launch", "--id", "s1", "--role", "dev", "--lane", "api", "--env", "OWN=mine"];
    let launch = [&launch[..], &["--backend", "shell", "--", "sh", "-c", &script]].concat();
    let mut command = world.fairway(&launch);
    command.env("OTHER", "secret");
    assert!(command.status().unwrap().success());
    let lane = root.join(".fairway/worktrees/api");
    let wait_for = |is_so: &dyn Fn() -> bool| {
        while !is_so() {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    };
    wait_for(&|| lane.join("asked").exists());
    // Each host is an item once, and the configuration settles it while the session works.
    let items = || {
        let board = world.json(["status"]);
        let all = board["needs_you"].as_array().unwrap().iter().filter(|need| need["kind"] == "host");
        all.map(|need| need["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let address = format!("127.0.0.1:{closed}");
    assert_eq!(items(), [format!("host:{address}"), "host:evil.invalid:80".to_owned()]);
    with_hosts(&format!("\"localhost:{closed}\", \"{address}\""));
    assert_eq!(items(), ["host:evil.invalid:80"]);
    fs::write(lane.join("opened"), "").unwrap();
    wait_for(&|| world.json(["session", "show", "s1"])["status"] == "ended");
    assert_eq!(items(), [""; 0]);
    let told = world.run(["events", "--kind", "sandbox.host_refused", "--json"]).exits(0).stdout;
    assert_eq!(told.lines().count(), 2, "{told}");
    assert!(told.contains(&format!("\"entry\":\"{address}\"")), "{told}");
    let said = fs::read_to_string(root.join(".fairway/transcripts/s1.log")).unwrap();
    for line in [
        "job namespace",
        "variable 5",
        "foreign 3",
        "queue 2",
        "jobs 1",
        "clear hellohello",
        "tunnel hello",
        "around curl: (7)",
        &format!("localhost:{closed} is closed in this sandbox: 127.0.0.1 is an address of this machine"),
        "evil.invalid:80 is closed in this sandbox: it is not in sandbox.hosts",
        "anew hello",
        "other 5",
        "check namespace, store sandbox",
        "run 0",
        "away 5",
        "hook 2",
        "You are in a sandbox: you can write to your lane only, and the network reaches",
        "own mine other  store sandbox",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    assert_eq!(world.json(["session", "show", "s1"])["sandbox"], "namespace");
    let task = world.json(["task", "show", "T-1"]);
    assert_eq!(task["status"], "review", "{said}");
    assert_eq!(world.git(&root, &["log", "-1", "--format=%s", "lane/api"]), "done\n");
    let evidence = world.json(["evidence", "list", "T-1"]);
    let tip = world.git(&root, &["rev-parse", "lane/api"]);
    assert_eq!(evidence[0]["commit"].as_str().unwrap(), tip.trim(), "{evidence}");
    // A person may launch without it, and says so.
    let plan = |more: &[&str]| {
        let words = ["session", "launch", "--lane", "api", "--role", "dev", "--dry-run", "--command", "true"];
        world.json([&words, more].concat())["start"]["argv"].to_string()
    };
    assert!(plan(&[]).contains("\"sandbox\",\"run\",\"--lane\",\"api\""), "{}", plan(&[]));
    assert!(!plan(&["--sandbox", "off"]).contains("sandbox"));
}

/// `setup` writes rules about pushes, for which a launched session has a `git` of its own: it works on the sandbox's repository.
/// The network of an agent's sandbox is a proxy to the hosts of its profile.
#[test]
fn git_in_a_sandbox_works_under_the_rules_that_setup_writes() {
    let Some(world) = world() else { return };
    world.real_time();
    let root = world.root();
    world.run(["setup", "--yes"]).exits(0);
    let of_setup = fs::read_to_string(root.join(".fairway.toml")).unwrap();
    // The address of the model.
    let (model, other) = (answering_server(), answering_server());
    let profile = format!("{of_setup}[sandbox]\nhosts = [\"127.0.0.1:{model}\"]\n");
    let configure = |text: &str| {
        fs::write(root.join(".fairway.toml"), text).unwrap();
        world.run(["trust"]).exits(0);
    };
    configure(&profile);
    let script = "git status --short; echo \"status $?\"; git commit --quiet --allow-empty --message=inside; echo \"commit $?\"; \
                  git init --quiet --bare /tmp/r.git; git push --quiet /tmp/r.git HEAD:refs/heads/x; echo \"push $?\"; \
                  git commit --quiet --amend --allow-empty --message=anew; \
                  git push --force /tmp/r.git HEAD:refs/heads/x; echo \"forced $?\"; \
                  git push --no-verify --force /tmp/r.git HEAD:refs/heads/x; echo \"unverified $?\"";
    let ask = |port: u16| format!("curl --silent --show-error --max-time 20 http://127.0.0.1:{port}/x 2>&1");
    let script =
        format!("{script}; echo \"key $ANTHROPIC_API_KEY $OTHER\"; echo \"model $({})\"; {}", ask(model), ask(other));
    let words = ["session", "launch", "--id", "s1", "--role", "dev", "--lane", "api", "--sandbox", "namespace"];
    let words =
        [&words[..], &["--provider", "claude", "--backend", "shell", "--json", "--", "sh", "-c", &script]].concat();
    let launched = world.fairway(words).env("ANTHROPIC_API_KEY", "k").env("OTHER", "o").output().unwrap();
    let launched = String::from_utf8(launched.stdout).unwrap();
    let reached = format!("sandbox namespace: the network reaches 127.0.0.1:{model}, ");
    let rest = "alone, by the proxy in HTTPS_PROXY; with the variables ANTHROPIC_API_KEY; everything: \
                fairway sandbox explain api --class namespace --provider claude";
    assert!(launched.contains(&reached) && launched.contains(rest), "{launched}");
    while world.json(["session", "show", "s1"])["status"] != "ended" {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let said = fs::read_to_string(root.join(".fairway/transcripts/s1.log")).unwrap();
    for line in ["status 0", "commit 0", "push 0", "forced 1", "unverified 1", "key k ", "model hello"] {
        assert!(said.lines().any(|said| said.trim_end() == line.trim_end()), "{line}: {said}");
    }
    let denied = "git pre-push: the push is denied: no-force-push: a force push is for people \
                  (it overwrites or deletes refs/heads/x of /tmp/r.git)";
    assert_eq!(said.matches(denied).count(), 2, "{said}");
    assert!(said.contains(&format!("127.0.0.1:{other} is closed in this sandbox")), "{said}");
    assert_eq!(world.git(&root, &["log", "-1", "--format=%s", "lane/api"]), "anew\n");
    // What is configured counts.
    let explain = || world.json(["sandbox", "explain", "api", "--class", "namespace", "--provider", "claude"]);
    assert_eq!(explain()["hosts"][0], format!("127.0.0.1:{model}"));
    configure(&format!("{profile}network = \"none\"\n"));
    assert_eq!(explain()["network"], "none");
}

/// A sandbox of the class `command` is what the program of the configuration makes of it.
#[test]
fn class_command_is_the_program_that_the_configuration_names() {
    let Some(world) = world() else { return };
    let (root, lane) = (world.root(), world.root().join(".fairway/worktrees/api"));
    let config = root.join(".fairway.toml");
    let before = fs::read_to_string(&config).unwrap();
    let with =
        |settings: &str| fs::write(&config, format!("{before}[sandbox]\nclass = \"command\"\n{settings}")).unwrap();
    let run = ["sandbox", "run", "--lane", "api", "--", "sh", "-c", "echo \"$FAIRWAY_SANDBOX $SECRET $BOX\""];
    let refused = |settings: &str, why: &str| {
        with(settings);
        world.run(["trust"]).exits(0);
        for call in [&run[..], &["sandbox", "check", "command"]] {
            let error = world.run(with_json(call)).refuses(7, "sandbox_unavailable").error();
            assert!(error["message"].as_str().unwrap().contains(why), "{error}");
        }
    };
    refused("", "sandbox.prefix names no program");
    refused("prefix = [\"no-such-box\", \"--\"]\n", "'no-such-box', the first word of sandbox.prefix, is no program");
    refused("network = \"proxy\"\nprefix = [\"env\"]\n", "no proxy");

    // The program does not run before a person trusts the change.
    with("prefix = [\"env\", \"BOX={lane}\"]\n");
    world.run(with_json(&run)).refuses(9, "untrusted");
    world.run(["trust"]).exits(0);
    let mut command = world.fairway(run);
    command.env("SECRET", "secret");
    let said = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert_eq!(said, format!("command  {}\n", lane.display()));
    let view = world.json(["sandbox", "explain", "api"]);
    assert_eq!((&view["class"], &view["prefix"][1]), (&"command".into(), &"BOX={lane}".into()));
    let launch = ["session", "launch", "--lane", "api", "--role", "dev", "--dry-run", "--command", "true"];
    assert!(world.json(launch)["start"]["argv"].to_string().contains("\"--class\",\"command\",\"--env\""));
    // The check shows that it keeps nothing in.
    let checked = world.run(["sandbox", "check", "--json"]).exits(5).json();
    assert_eq!((&checked["class"], &checked["passed"]), (&"command".into(), &false.into()));
    let done = checked["probes"].as_array().unwrap().iter().filter(|probe| probe["inside"] == true).count();
    assert!(done > 50, "{checked:#}");

    world.run(["sandbox", "check", "--network", "open", "--json"]).refuses(2, "usage");
    // A container is given the paths one by one.
    let words = "while [ \"$1\" != -- ]; do echo \"$1\"; shift; done; shift; exec \"$@\"";
    with(&format!("prefix = [\"sh\", \"-c\", '{words}', \"sh\", \"--volume={{mount}}\", \"--env={{env}}\", \"--\"]\n"));
    world.run(["trust"]).exits(0);
    let said = world.run(["sandbox", "run", "--lane", "api", "--", "echo", "ran"]).exits(0).stdout;
    let lane = lane.display();
    for line in [format!("--volume={lane}:{lane}:rw"), "--env=PATH".to_owned(), "ran".to_owned()] {
        assert!(said.lines().any(|one| one == line), "{line}: {said}");
    }
    assert!(said.contains(&format!(":{lane}/.git:ro\n")) && !said.contains("--volume=/usr"), "{said}");
    // What Fairway observes of such work is in one, too.
    world.run(["lane", "edit", "api", "--sandbox", "command"]).exits(0);
    world.run(["task", "add", "--id", "T-1", "work", "--lane", "api"]).exits(0);
    let run = world.run(["evidence", "run", "T-1", "--", "sh", "-c", "echo \"class $FAIRWAY_SANDBOX\""]).exits(0);
    assert!(run.stdout.contains("class command"), "{run:?}");
}

/// What a lane demands holds for its sessions, and for what Fairway runs of its work.
#[test]
fn lane_demands_its_sandbox_of_sessions_evidence_jobs_and_landing_checks() {
    let Some(world) = world() else { return };
    let (root, lane) = (world.root(), world.root().join(".fairway/worktrees/api"));
    let config = root.join(".fairway.toml");
    let check = format!("test \"$FAIRWAY_SANDBOX\" = namespace && test ! -e {}/.fairway/fairway.db", root.display());
    let settings = format!("\n[land]\nchecks = ['{check}']\n[gates.merge]\nrequire = [\"reviewed_executables\"]\n");
    fs::write(&config, fs::read_to_string(&config).unwrap() + &settings).unwrap();
    world.git(&root, &["commit", "--quiet", "--all", "--message=settings"]);
    world.run(["trust"]).exits(0);
    world.run(["lane", "edit", "api", "--sandbox", "docker", "--json"]).refuses(2, "invalid_value");
    world.run(["lane", "edit", "api", "--sandbox", "namespace"]).exits(0);
    assert_eq!(world.json(["lane", "show", "api"])["lane"]["sandbox"], "namespace");
    assert!(world.run(["lane", "show", "api"]).stdout.contains("sandbox     namespace"));
    let launch = ["session", "launch", "--lane", "api", "--role", "dev", "--dry-run", "--command", "true"];
    let refused = world.run(with_json(&[&launch[..], &["--sandbox", "off"]].concat()));
    let error = refused.refuses(5, "sandbox_required").error();
    assert_eq!(error["hint"], "to demand it of the lane no more: fairway lane edit api --sandbox off");
    assert!(world.json(launch)["start"]["argv"].to_string().contains("\"sandbox\",\"run\""));

    world.run(["task", "add", "--id", "T-1", "work", "--lane", "api"]).exits(0);
    fixtures::add_session(&world, "s1", "worker", Some("api"));
    let by = |words: &[&str]| world.run([&["--session", "s1"], words].concat());
    by(&["claim", "T-1"]).exits(0);
    let script = "test \"$FAIRWAY_SANDBOX\" = namespace && git commit --quiet --allow-empty --message=dropped";
    let run = by(&["evidence", "run", "T-1", "--", "sh", "-c", script]).exits(0);
    assert!(run.stderr.contains("the commits that the program has made are gone with its sandbox"), "{run:?}");
    assert_eq!(world.git(&root, &["log", "-1", "--format=%s", "lane/api"]), "begin\n");
    let job = |dir: &Path| {
        let dir = dir.display().to_string();
        let words = ["exec", "spawn", "--foreground", "--cwd", &dir, "--env", "OWN=mine", "--", "sh", "-c"];
        world.run([&words[..], &["echo \"job $OWN ${FAIRWAY_SANDBOX:-none}\""]].concat()).exits(0).stdout
    };
    assert!(job(&lane).contains("job mine namespace"), "{}", job(&lane));
    assert!(job(&root).contains("job mine none"));
    for name in [".vscode", ".idea"] {
        assert!(!lane.join(name).exists(), "{name}");
    }

    fs::create_dir(lane.join(".vscode")).unwrap();
    fs::write(lane.join(".vscode/tasks.json"), "{}").unwrap();
    world.git(&lane, &["add", "."]);
    world.git(&lane, &["commit", "--quiet", "--message=settings"]);
    assert_eq!(world.json(["lane", "diff", "api"])["runs_later"], serde_json::json!([".vscode/tasks.json"]));
    let shown = world.run(["lane", "diff", "api", "--stat"]).exits(0);
    assert!(shown.stderr.contains("note: would run on your machine: .vscode/tasks.json"), "{shown:?}");
    by(&["evidence", "run", "T-1", "--", "true"]).exits(0);
    by(&["task", "submit", "T-1"]).exits(0);
    world.run(["overlap"]).exits(0);
    let is_needed = || {
        let board = world.json(["status"]);
        let needs = board["needs_you"].as_array().unwrap();
        needs.iter().any(|need| need["kind"] == "runs_later" && need["lane"] == "api")
    };
    assert!(is_needed());
    let blocked = world.run(["merge-ready", "T-1", "--json"]).exits(5).json();
    assert_eq!(blocked["blockers"][0]["code"], "executables_unreviewed", "{blocked}");
    let tip = world.git(&lane, &["rev-parse", "HEAD"]);
    let review = ["review", "record", "T-1", "--domain", "code", "--verdict", "approve", "--commit"];
    by(&[&review[..], &[tip.trim()]].concat());
    assert!(is_needed());
    world.run([&review[..], &[tip.trim()]].concat()).exits(0);
    assert!(!is_needed());
    let landed = world.run(["land", "T-1"]).exits(0);
    assert!(world.git(&root, &["ls-tree", "-r", "--name-only", "main"]).contains(".vscode/tasks.json"), "{landed:?}");
}

/// Without a network and credentials it does not matter whether the guard sees a push.
#[test]
fn forced_pushes_that_a_guard_must_see_reach_no_remote() {
    let Some(world) = world() else { return };
    let (root, lane) = (world.root(), world.root().join(".fairway/worktrees/api"));
    let remote = world.dir().join("remote.git").display().to_string();
    world.git(&root, &["init", "--quiet", "--bare", &remote]);
    world.git(&root, &["remote", "add", "origin", &remote]);
    world.git(&root, &["push", "--quiet", "origin", "main", "lane/api"]);
    let refs = || world.git(&root, &["ls-remote", "origin"]);
    let before = refs();
    let all = crate::guard::cases(include_str!("../../data/guard/bypasses.txt"));
    let step = if crate::common::soak::is_on() { 1 } else { 8 };
    let tried: Vec<&str> = all.iter().step_by(step).map(String::as_str).filter(|text| !text.contains('\0')).collect();
    assert!(tried.len() > 90);
    fs::write(lane.join("pushes"), tried.join("\0") + "\0").unwrap();
    let push = |remote: &str| {
        format!(
            "git remote add origin {remote} 2>/dev/null; git commit --quiet --allow-empty --message=forced; cat pushes | \
             while IFS= read -r -d '' text; do timeout 5 bash -c \"$text\" </dev/null >/dev/null 2>&1; done; \
             git push --force origin HEAD:main"
        )
    };
    let done = world.run(["sandbox", "run", "--lane", "api", "--", "bash", "-c", &push(&remote)]);
    assert_ne!(done.code, Some(0), "{done:?}");
    assert_eq!(refs(), before);
    // The same push is one outside.
    world.git(&lane, &["commit", "--quiet", "--allow-empty", "--message=outside"]);
    world.git(&lane, &["push", "--quiet", "--force", "origin", "HEAD:main"]);
    assert_ne!(refs(), before);
}

/// What each of them does to build without a network; one that is not installed is left out.
const BUILDS: &str = r#"
mkdir -p rust/src js/dep py
printf '[package]\nname = "a"\nversion = "0.1.0"\n' >rust/Cargo.toml; echo 'fn main() {}' >rust/src/main.rs
echo '{"name":"dep","version":"1.0.0"}' >js/dep/package.json; echo '{"name":"a","version":"1.0.0"}' >js/package.json
printf 'from setuptools import setup\nsetup(name="a", version="1", py_modules=["a"])\n' >py/setup.py; echo 'x = 1' >py/a.py
! command -v cargo >/dev/null || (cd rust && cargo build --offline --quiet && ./target/debug/a) || echo 'cargo fails'
! command -v npm >/dev/null || (cd js && npm install --offline --no-audit --no-fund ./dep) || echo 'npm fails'
python=none; for one in python3 /usr/bin/python3; do "$one" -c 'import setuptools, wheel, pip' 2>/dev/null && python=$one; done
[ "$python" = none ] && echo 'no pip' || "$python" -m pip install --quiet --no-index --no-build-isolation --target out ./py && \
    test -f out/a.py -o "$python" = none || echo 'pip fails'
"#;

#[test]
fn cargo_npm_and_pip_build_without_a_network() {
    let Some(mut world) = world() else { return };
    // The toolchains are those of the person who runs the tests.
    let home = std::env::var_os("HOME").map(std::path::PathBuf::from).unwrap_or_default();
    let rustup = std::env::var_os("RUSTUP_HOME").map_or_else(|| home.join(".rustup"), Into::into);
    world.set("RUSTUP_HOME", rustup);
    let built = world.run(["sandbox", "run", "--lane", "api", "--", "bash", "-c", BUILDS]).exits(0);
    assert!(!built.stdout.contains("fails"), "{built:?}");
    require::met(
        !built.stdout.contains("no pip"),
        "pip, setuptools or wheel is not installed; tests/run.sh installs them",
    );
}
