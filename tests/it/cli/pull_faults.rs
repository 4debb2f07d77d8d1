//! Pull requests when the network is cut, the process is killed, or the remote refuses: nothing is lost and nothing is done twice.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::land::{main_commit, status, submitted};
use super::land_batch::wait_for;
use super::pull_requests::{branch, messages, on_forge, pulls, remote, world};
use crate::common::{TestProject, fixtures};

/// The forge of the examples, whose answer is lost at one call, after its effect or `before` it; with `kill` the caller dies there.
const CUT: &str = r#"#!/bin/sh
read at what <"$0.at" 2>/dev/null && [ "$at" -gt 0 ] && {
  echo "$((at - 1)) $what" >"$0.at"
  [ "$at" = 1 ] && {
    [ "$what" = before ] || "${0%/*}/fake.py" "$@" >/dev/null
    [ "$what" = kill ] && kill -9 "$PPID"
    echo '{"why":"network","message":"the connection was cut","seconds":null}'
    exit 1
  }
}
exec "${0%/*}/fake.py" "$@"
"#;

/// Runs a command until no call of the script is left at which its answer is lost. Returns how often it was cut.
fn cut_at_each_call(world: &TestProject, what: &str, words: &[&str]) -> usize {
    let at = world.root().join(".fairway/cut.sh.at");
    for call in 1.. {
        fs::write(&at, format!("{call} {what}\n")).unwrap();
        let done = world.run(words);
        if fs::read_to_string(&at).unwrap() != format!("0 {what}\n") {
            fs::remove_file(&at).unwrap();
            done.exits(0);
            return call - 1;
        }
    }
    unreachable!()
}

#[test]
fn lost_answer_and_death_at_each_call_end_as_an_undisturbed_call() {
    let world = world("");
    let script = world.root().join(".fairway/cut.sh");
    fs::write(&script, CUT).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let file = world.root().join(".fairway.toml");
    let config = fs::read_to_string(&file).unwrap().replace("fake.py", "cut.sh");
    fs::write(&file, config).unwrap();
    world.git(&world.root(), &["commit", "--quiet", "--all", "--message=cut"]);
    world.git(&world.root(), &["push", "--quiet"]);
    world.run(["trust"]).exits(0);
    fixtures::add_session(&world, "rosa", "reviewer", None);
    for (number, (lane, what)) in [("ui", "cut"), ("api", "kill"), ("web", "before")].into_iter().enumerate() {
        let (task, told) = (submitted(&world, lane, &[(lane, "1\n2\n")]), number);
        let number = (number + 1).to_string();
        assert_eq!(cut_at_each_call(&world, what, &["land", &task]), 2);
        assert_eq!(pulls(&world).as_array().unwrap().len().to_string(), number);
        assert_eq!(status(&world, &task), "review");
        let head = branch(&world, &format!("lane/{lane}"));
        let said = json!([{ "id": format!("{number}1"), "author": "ann", "body": "why?", "edited": null }]);
        let thread = json!({ "id": format!("{number}A"), "file": lane, "line": 2, "side": "new", "commit": head, "resolved": false, "comments": said });
        let check = json!({ "id": "1", "name": "test", "required": true, "state": "failed", "url": null });
        let red = json!({ "checks": [check], "threads": [thread], "people": { "ann": true } });
        on_forge(&world, &["set", &number, &red.to_string()]);
        assert_eq!(cut_at_each_call(&world, what, &["pr", "sync"]), 2);
        assert_eq!((status(&world, &task), messages(&world)), ("in_progress".into(), (told + 1).to_string()));
        // What is resolved here is resolved there, and a verdict is posted, once.
        let id = world.value("SELECT max(id) FROM review_comments");
        let resolve = ["--session", "rosa", "review", "resolve", &id, "--force", "--reason", "it is right"];
        world.run(resolve).exits(0);
        cut_at_each_call(&world, what, &["pr", "sync"]);
        let verdict = ["review", "record", &task, "--verdict", "changes", "--notes", "no", "--post"];
        assert_eq!(cut_at_each_call(&world, what, &verdict), 2);
        let place: Vec<Value> = pulls(&world)[number.parse::<usize>().unwrap() - 1]["said"].as_array().unwrap().clone();
        let words: Vec<&Value> = place.iter().map(|one| &one[0][0]).collect();
        assert_eq!(words, ["resolve", "review"]);
        assert_eq!(
            (world.value(&format!("SELECT count(*) FROM reviews WHERE task_id = '{task}'")), messages(&world)),
            ("1".into(), (told + 1).to_string())
        );
        on_forge(&world, &["merge", &number, "squash"]);
        assert_eq!(cut_at_each_call(&world, what, &["pr", "sync"]), 1);
        assert_eq!((status(&world, &task), messages(&world)), ("done".into(), (told + 1).to_string()));
        assert_eq!(main_commit(&world), branch(&world, "main"));
    }
    assert_eq!(world.value("SELECT count(*) FROM landings WHERE ended_at IS NULL"), "0");
}

/// `git http-backend` on loopback, as the user of the test.
const SERVER: &str = "
import http.server, os, sys
http.server.nobody_uid = os.getuid
handler = http.server.CGIHTTPRequestHandler
handler.have_fork = True
os.chdir(sys.argv[1])
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler)
open('port.new', 'w').write(str(server.server_address[1]))
os.rename('port.new', 'port')
server.serve_forever()
";

struct GitServer(Child);

impl Drop for GitServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A base that refuses pushes: the refusal names the way through a pull request, which works there.
#[test]
fn protected_base_over_http_names_the_way_through_a_pull_request() {
    let world = world("");
    let (dir, bare) = (world.dir().join("http"), remote(&world));
    fs::create_dir_all(dir.join("cgi-bin")).unwrap();
    let backend = world.git(world.dir(), &["--exec-path"]).trim().to_owned() + "/git-http-backend";
    let root = world.dir().display();
    let cgi = format!(
        "#!/bin/sh\nexport GIT_PROJECT_ROOT='{root}' GIT_HTTP_EXPORT_ALL=1 REMOTE_USER=ann\nexec '{backend}'\n"
    );
    let hook = "#!/bin/sh\nwhile read -r old new ref; do [ \"$ref\" != refs/heads/main ] || { echo \"error: GH006: Protected branch update failed for $ref.\" >&2; exit 1; }; done\n";
    for (path, text) in [(dir.join("cgi-bin/git"), cgi.as_str()), (bare.join("hooks/pre-receive"), hook)] {
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let server =
        Command::new("python3").args(["-c", SERVER]).arg(&dir).stderr(Stdio::null()).stdout(Stdio::null()).spawn();
    let _server = GitServer(server.unwrap());
    wait_for(|| dir.join("port").exists().then_some(()), "the server listens");
    let port = fs::read_to_string(dir.join("port")).unwrap();
    let address = format!("http://127.0.0.1:{port}/cgi-bin/git/remote.git");
    world.git(&world.root(), &["remote", "set-url", "origin", &address]);
    let script: PathBuf = world.root().join(".fairway/fake.py");
    let forge = fs::read_to_string(&script).unwrap();
    fs::write(
        &script,
        forge.replace("os.environ[\"FAIRWAY_FORGE_REMOTE\"]", &format!("{:?}", bare.display().to_string())),
    )
    .unwrap();
    world.run(["trust"]).exits(0);
    let task = submitted(&world, "ui", &[("a.txt", "a\n")]);
    let before = main_commit(&world);
    let refused = world.run(["land", &task, "--push"]).exits(5);
    for part in ["GH006: Protected branch update failed", "propose the work: fairway land --all --pr"] {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
    assert_eq!((main_commit(&world), status(&world, &task)), (before, "review".to_owned()));
    world.run(["land", &task, "--pr"]).exits(0);
    assert_eq!(branch(&world, "lane/ui"), pulls(&world)[0]["head"].as_str().unwrap());
    let merged = on_forge(&world, &["merge", "1", "squash"])["merged_commit"].clone();
    world.run(["pr", "sync"]).exits(0);
    assert_eq!((json!(main_commit(&world)), status(&world, &task)), (merged, "done".to_owned()));
}
