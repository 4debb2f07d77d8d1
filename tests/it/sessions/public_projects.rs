//! Published packages, whose own tests are green in a new lane after the answers of `fairway setup` and one `fairway start`.
//! `tests/public-projects.sh` puts them into the cache.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::{Sessions, eventually};
use crate::common::require;

/// The cached packages; `None` where they are not.
fn packages() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or(home)?;
    let dir = cache.join("fairway-tests/public-projects-1");
    let reason = format!("{} is not there; tests/run.sh fetches it", dir.display());
    require::met(dir.join("complete").exists(), reason).then_some(dir)
}

/// The package in a repository of its own, beside package managers that have the network of the cache.
fn repository(kind: &str) -> Option<Sessions> {
    let cached = packages()?;
    let mut world = Sessions::with_git();
    let own = |name: &str, below: &str| {
        let home = std::env::var_os("HOME").unwrap_or_default();
        std::env::var_os(name).map_or_else(|| Path::new(&home).join(below), PathBuf::from)
    };
    world.set("CARGO_HOME", own("CARGO_HOME", ".cargo")).set("RUSTUP_HOME", own("RUSTUP_HOME", ".rustup"));
    world.set("CARGO_NET_OFFLINE", "true").set("npm_config_offline", "true").set("PIP_NO_INDEX", "1");
    world.set("npm_config_cache", cached.join("npm-cache")).set("PIP_FIND_LINKS", cached.join("wheels"));
    world.set("FAIRWAY_SESSIONS_DEFAULT_BACKEND", "shell");
    // Other tests name the first ports that lanes get: here they are another worktree's.
    let blocks: Map<String, Value> = (20_000..23_000)
        .step_by(10)
        .map(|port| (port.to_string(), json!({ "worktree": "/", "planned": null })))
        .collect();
    let state = world.dir().join("home/.local/state/fairway");
    fs::create_dir_all(&state).unwrap();
    fs::write(state.join("ports.json"), Value::Object(blocks).to_string()).unwrap();
    let copied = world.command("cp").arg("-r").arg(cached.join(kind).join(".")).arg(world.root()).status().unwrap();
    assert!(copied.success());
    Some(world)
}

/// Takes the answers of setup, commits all files, and starts an agent on each title, whose first act is to run the tests. Each
/// writes what they said into `seen`.
fn tests_of_agents(world: &Sessions, titles: &[&str], test: &str) -> Vec<String> {
    world.json(["setup", "--yes"]);
    world.git(&world.root(), &["add", "--all"]);
    world.git(&world.root(), &["commit", "--quiet", "--message=package"]);
    for title in titles {
        world.run(["task", "add", title]).exits(0);
    }
    let tasks: Vec<String> = (1..=titles.len()).map(|number| format!("T-{number}")).collect();
    let script = format!("{{ {test}; }} >seen 2>&1; echo \"exit $?\" >>seen; exec sleep 600");
    let agent = ["--json", "--", "sh", "-c", &script];
    world.run(["start"].into_iter().chain(tasks.iter().map(String::as_str)).chain(agent)).exits(0);
    let lane = |task: &String| world.root().join(".fairway/worktrees").join(task);
    let seen = tasks.iter().map(|task| {
        eventually("the end of its tests", || {
            let seen = fs::read_to_string(lane(task).join("seen")).ok()?;
            seen.lines().last().is_some_and(|last| last.starts_with("exit ")).then_some(seen)
        })
    });
    seen.collect()
}

/// A test with a server of the lane's own, and a secret that no commit has. It ends when the servers of two lanes have answered
/// at the same time.
const SERVER_TEST: &str = r"
var test = require('tape'), fs = require('fs'), http = require('http');
test('two servers at once', function (t) {
    var secret = fs.readFileSync('.env', 'utf8'), meet = secret.trim().split('=')[1], port = process.env.FAIRWAY_PORT;
    var server = http.createServer(function (_, reply) { reply.end(secret); }).listen(+port, '127.0.0.1', function () {
        fs.writeFileSync(meet + '/up-' + port, '');
        (function ask() {
            var up = fs.readdirSync(meet).filter(function (name) { return /^up-/.test(name); });
            if (up.length < 2) return setTimeout(ask, 20);
            http.get({ host: '127.0.0.1', port: +port, agent: false }, function (reply) {
                var text = '';
                reply.on('data', function (part) { text += part; });
                reply.on('end', function () { fs.writeFileSync(meet + '/done-' + port, text); close(); });
            });
        })();
    });
    function close() {
        var done = fs.readdirSync(meet).filter(function (name) { return /^done-/.test(name); });
        if (done.length < 2) return setTimeout(close, 20);
        t.equal(fs.readFileSync(meet + '/done-' + port, 'utf8'), secret);
        server.close();
        t.end();
    }
});
";

#[test]
fn two_agents_test_an_npm_package_with_a_server_at_once() {
    let Some(world) = repository("npm") else { return };
    let (root, meet) = (world.root(), world.dir().join("meet"));
    fs::create_dir(&meet).unwrap();
    fs::write(root.join("test/server.js"), SERVER_TEST).unwrap();
    fs::write(root.join(".gitignore"), "node_modules\n.env\n").unwrap();
    fs::write(root.join(".env"), format!("MEET={}\n", meet.display())).unwrap();
    for seen in tests_of_agents(&world, &["Fix the tax", "Fix the cart"], "npm test") {
        assert!(seen.contains("# pass  25") && seen.ends_with("exit 0\n"), "{seen}");
    }
    assert!(fs::read_to_string(root.join(".worktreeinclude")).unwrap().contains(".env*"), "by setup");
    let lanes = world.json(["lane", "list"]);
    assert_eq!(lanes[0]["setup"]["state"], "ready", "{lanes}");
}

#[test]
fn agent_tests_a_python_package() {
    let Some(world) = repository("python") else { return };
    let seen = tests_of_agents(&world, &["Fix the tax"], ".venv/bin/python tests.py");
    assert!(seen[0].contains("Ran 116 tests") && seen[0].ends_with("exit 0\n"), "{seen:?}");
}

#[test]
fn agent_tests_a_cargo_package_that_needs_no_setup() {
    let Some(world) = repository("cargo") else { return };
    let seen = tests_of_agents(&world, &["Fix the tax"], "cargo test --quiet");
    assert!(seen[0].contains("test result: ok. 11 passed") && seen[0].ends_with("exit 0\n"), "{seen:?}");
    assert_eq!(world.json(["lane", "show", "T-1"])["lane"]["setup"], json!(null));
}
