//! The guide of several machines, followed literally: from one machine to two and back. Only names are other ones: of the server, its
//! database and a machine.

use std::path::Path;

use crate::cli::land::{NO_GATES, commit};
use crate::common::test_project::{CommandOutput, FAIRWAY};
use crate::common::{TestProject, postgres_server};

const GUIDE: &str = include_str!("../../../docs/guides/several-machines.md");

/// The blocks of commands that a person types elsewhere, in the order of the guide.
struct Guide {
    blocks: Vec<String>,
    /// Texts of the guide, and what they are here.
    names: Vec<(&'static str, String)>,
}

impl Guide {
    fn read(names: Vec<(&'static str, String)>) -> Self {
        let blocks = GUIDE.split("```sh no-run\n").skip(1).map(|rest| rest.split("```").next().unwrap().to_owned());
        Self { blocks: blocks.collect(), names }
    }

    /// Runs the block that begins so.
    #[track_caller]
    fn follow(&mut self, world: &TestProject, start: &str) -> String {
        let place = self.blocks.iter().position(|block| block.starts_with(start));
        let mut block = self.blocks.remove(place.unwrap_or_else(|| panic!("the guide has no such block: {start}")));
        for (name, here) in &self.names {
            block = block.replace(name, here);
        }
        let programs = Path::new(FAIRWAY).parent().unwrap();
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
        let mut shell = world.command("sh");
        let output: CommandOutput = shell.args(["-ec", &block]).env("PATH", path).output().unwrap().into();
        assert_eq!(output.code, Some(0), "{block}{output:?}");
        output.stdout
    }
}

#[test]
fn guide_leads_from_one_machine_to_two_and_back() {
    let Some(server) = postgres_server::shared() else { return };
    let laptop = TestProject::with_git();
    let root = laptop.root();
    let config = root.join(".fairway.toml");
    std::fs::write(&config, format!("{}{NO_GATES}", std::fs::read_to_string(&config).unwrap())).unwrap();
    let remote = laptop.dir().join("remote.git");
    laptop.git(laptop.dir(), &["init", "--quiet", "--bare", "--initial-branch=main", remote.to_str().unwrap()]);
    laptop.git(&root, &["add", ".fairway.toml"]);
    laptop.git(&root, &["commit", "--quiet", "--message=configuration"]);
    laptop.git(&root, &["remote", "add", "origin", remote.to_str().unwrap()]);
    laptop.git(&root, &["push", "--quiet", "--set-upstream", "origin", "main"]);
    let build = TestProject::uninitialized();
    build.git(build.dir(), &["clone", "--quiet", remote.to_str().unwrap(), build.root().to_str().unwrap()]);
    for world in [&laptop, &build] {
        for (key, value) in [("user.name", "Ann"), ("user.email", "ann@example.com")] {
            world.git(&world.root(), &["config", key, value]);
        }
    }
    for task in ["first", "second"] {
        laptop.run(["task", "add", task]).exits(0);
    }

    let schema = format!("guide_{}", std::process::id());
    let socket = server.file("").display().to_string();
    let dump = format!("'host={socket} port={} user=fairway dbname=postgres'", server.port());
    let mut guide = Guide::read(vec![
        // A person answers the question.
        ("fairway store copy --to", "fairway store copy --yes --to".into()),
        ("fairway store restored", "fairway store restored --yes".into()),
        ("postgres://fairway@db.example/team", format!("'{}'", server.address(&schema))),
        ("'host=db.example user=fairway dbname=team'", dump),
        ("--schema=fairway", format!("--schema={schema}")),
        // The agent's command.
        ("--here", "--here -- sleep 300".into()),
    ]);
    guide.follow(&laptop, "fairway store copy --to postgres://");
    // Both are this machine: one of them gets an id of its own.
    let claimed = guide.follow(&build, "git pull\n");
    assert!(claimed.contains("T-1"), "{claimed}");
    build.run(["host", "renew", "--yes"]).exits(0);
    let ready = laptop.json(["ready"]);
    assert_eq!((ready.as_array().unwrap().len(), &ready[0]["id"]), (1, &"T-2".into()));

    build.run(["lane", "add", "cart", "--create-worktree"]).exits(0);
    build.run(["task", "edit", "T-2", "--lane", "cart"]).exits(0);
    let start = ["start", "T-2", "--backend", "shell", "--json", "--", "sleep", "300"];
    let session = build.run(start).exits(0).json()["id"].as_str().unwrap().to_owned();
    commit(&build, "cart", &[("cart.txt", "cart\n")]);
    build.git(&build.root().join(".fairway/worktrees/cart"), &["push", "--quiet", "origin", "lane/cart"]);
    laptop.advance_clock(7_200);
    guide.names.push(("cart-1", session.clone()));
    guide.follow(&laptop, "fairway session relaunch cart-1 --here");
    assert!(root.join(".fairway/worktrees/cart/cart.txt").exists());
    let next = laptop.json(["task", "show", "T-2"])["claim"]["session_id"].as_str().unwrap().to_owned();
    laptop.run(["session", "stop", &next]).exits(0);
    build.run(["session", "stop", &session]);
    let hosts = laptop.json(["host", "list"]);
    let other = hosts.as_array().unwrap().iter().find(|host| host["here"] == false).unwrap();
    guide.names.push(("retire build1", format!("retire {} --force", other["id"].as_str().unwrap())));
    guide.follow(&laptop, "fairway host retire build1");

    guide.follow(&laptop, "pg_dump ");
    assert!(std::fs::read_to_string(root.join("team.sql")).unwrap().contains("COPY "));
    guide.follow(&laptop, "fairway store copy --to sqlite");
    assert_eq!(laptop.json(["store", "show"])["engine"], "sqlite");
    assert_eq!(laptop.json(["task", "list"]).as_array().unwrap().len(), 2);
    let error = build.run(["ready", "--json"]).refuses(3, "store_missing").error();
    assert!(error["message"].as_str().unwrap().contains("it was moved to a file"), "{error:#}");
    // Making roles and databases is the administrator's, and would change what other tests use.
    let left: Vec<&str> = guide.blocks.iter().map(|block| block.lines().next().unwrap()).collect();
    assert_eq!(left, ["createuser --pwprompt fairway"]);
    server.query("public", &format!("DROP SCHEMA {schema}_moved CASCADE"));
}
