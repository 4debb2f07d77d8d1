//! `fairway guide`

use std::fs;

use clap::Command;

use crate::common::TestProject;

const OWN: &str = "Our own way: ask ann first.\n";

#[test]
fn guide_is_the_same_everywhere_in_a_project_and_outside() {
    let world = TestProject::with_git();
    let guide = world.run(["guide"]).exits(0).stdout;
    assert!(guide.starts_with("# Working in this project with Fairway\n"), "{guide}");
    assert!(guide.lines().count() <= 60, "{}", guide.lines().count());
    assert_eq!(fs::read_to_string(world.root().join(".fairway/AGENTS.md")).unwrap(), guide);
    // A lane's worktree has neither the configuration nor the state directory.
    world.run(["lane", "add", "api", "--create-worktree"]).exits(0);
    let lane = world.root().join(".fairway/worktrees/api");
    assert!(!lane.join(".fairway").exists());
    let outside = world.dir().join("home");
    for dir in [&lane, &outside] {
        let mut command = world.fairway(["guide"]);
        let output = command.current_dir(dir).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        assert_eq!(String::from_utf8(output.stdout).unwrap(), guide, "{}", dir.display());
    }
    assert_eq!(world.json(["guide"])["file"], serde_json::Value::Null);
    assert_eq!(world.transcript(&["fairway guide --quiet"]), "$ fairway guide --quiet\n");
    fs::write(world.root().join(".fairway.toml"), "[broken\n").unwrap();
    assert_eq!(world.run(["guide"]).exits(0).stdout, guide, "agents are told also when the configuration is broken");
}

#[test]
fn contract_with_a_persons_changes_is_printed_and_never_overwritten() {
    let world = TestProject::with_git();
    let file = world.root().join(".fairway/AGENTS.md");
    let guide = world.run(["guide"]).exits(0).stdout;
    world.run(["lane", "add", "api", "--create-worktree"]).exits(0);
    fs::write(&file, OWN).unwrap();
    world.run(["init"]).exits(0);
    assert_eq!(fs::read_to_string(&file).unwrap(), OWN);
    let mut command = world.fairway(["guide"]);
    let output = command.current_dir(world.root().join(".fairway/worktrees/api")).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), OWN);
    assert_eq!(world.json(["guide"])["file"], file.display().to_string());
    // Neither a directory nor an empty file is a contract.
    fs::write(&file, "").unwrap();
    assert_eq!(world.run(["guide"]).exits(0).stdout, guide);
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert_eq!(world.run(["guide"]).exits(0).stdout, guide);
}

#[test]
fn contract_of_an_earlier_version_is_replaced_by_init() {
    let world = TestProject::new();
    let file = world.root().join(".fairway/AGENTS.md");
    let guide = fs::read_to_string(&file).unwrap();
    fs::write(&file, include_str!("../../fixtures/version-0.1/AGENTS.md")).unwrap();
    assert_eq!(world.run(["guide"]).exits(0).stdout, guide, "its exit codes are wrong by now");
    let run = world.run(["init"]).exits(0);
    assert_eq!(world.redacted(&run.stdout), "updated [world]/project: .fairway/AGENTS.md\n");
    assert_eq!(fs::read_to_string(&file).unwrap(), guide);
}

/// The first word of a line that is no command, or no flag of its command.
fn unknown<'line>(tree: &Command, words: &'line [String]) -> Option<&'line str> {
    let mut at = tree;
    let mut words = words.iter().skip(1);
    while let Some(word) = words.next() {
        if word == "--" {
            break;
        }
        if let Some(below) = at.find_subcommand(word) {
            at = below;
        } else if let Some(flag) = word.strip_prefix("--") {
            let flag = flag.split_once('=').map_or(flag, |(name, _)| name);
            let known = at.get_arguments().chain(tree.get_arguments()).find(|arg| {
                arg.get_long() == Some(flag) || arg.get_all_aliases().is_some_and(|all| all.contains(&flag))
            });
            match known {
                // A value before the command is none.
                Some(arg) if at.get_name() == "fairway" && arg.get_action().takes_values() => {
                    words.next();
                }
                Some(_) => {}
                None if flag == "help" => {}
                None => return Some(word),
            }
        } else if at.get_name() == "fairway" && !word.starts_with('-') {
            return Some(word);
        }
    }
    None
}

/// Every command and flag that the contract names is one.
#[test]
fn contract_names_only_commands_and_flags_that_exist() {
    let guide = TestProject::uninitialized().run(["guide"]).exits(0).stdout.replace('\n', " ");
    let tree = fairway::cli::command();
    let mut named = 0;
    for span in guide.split('`').skip(1).step_by(2).filter(|span| span.starts_with("fairway ")) {
        let words = shell_words::split(&span.replace('…', "x")).unwrap();
        assert_eq!(unknown(&tree, &words), None, "{span}");
        named += 1;
    }
    assert!(named > 12, "{named}");
    for (text, why) in [
        ("`store_read_only`", "a read-only store is not retried"),
        ("8 the store is busy or the disk is full", "busy is retried"),
        ("Commit each step with git", "an agent must commit"),
        ("fairway handoff accept", "an agent accepts handoffs"),
        ("Never judge yourself", "an agent does not approve itself"),
        ("Stop when `fairway claim` exits with 6", "an agent knows its end"),
    ] {
        assert!(guide.contains(text), "{why}: {guide}");
    }
}

/// Every command and flag on the pages for people and programs is one: also where a block is not run.
#[test]
fn pages_name_only_commands_and_flags_that_exist() {
    let world = TestProject::uninitialized();
    let tree = fairway::cli::command();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages = vec![root.join("README.md"), root.join("docs/getting-started.md")];
    for shelf in ["docs/guides", "docs/integration"] {
        pages.extend(fs::read_dir(root.join(shelf)).unwrap().map(|entry| entry.unwrap().path()));
    }
    let line = regex::Regex::new(r"`(fairway [^`\n]+)`|(?m:^(?:\$ )?(fairway [^#|<>&;\n]+))").unwrap();
    let (mut named, mut wrong) = (0, Vec::new());
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        for found in line.captures_iter(&text) {
            let span = found.get(1).or_else(|| found.get(2)).unwrap().as_str();
            let Ok(words) = shell_words::split(&span.replace('…', "x")) else { continue };
            named += 1;
            // A short verb is none of the parser's, and has a page.
            if let Some(word) = unknown(&tree, &words)
                && (word.starts_with('-') || world.run([word, "--help"]).code != Some(0))
            {
                wrong.push(format!("{}: {span}: {word}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(named > 200, "{named}");
}

/// The reference pages that programs are written against.
const CONTRACTS: [&str; 5] = ["backend-plumbing", "backend-protocol", "codes", "env", "http"];

/// The program carries its manual: each page of both shelves and each contract, without what a reader of the rendered page does
/// not see.
#[test]
fn every_guide_is_printed_and_listed() {
    let world = TestProject::uninitialized();
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let mut topics: Vec<(String, std::path::PathBuf)> = ["guides", "integration"]
        .iter()
        .flat_map(|shelf| fs::read_dir(docs.join(shelf)).unwrap())
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), path))
        .collect();
    topics.push(("getting-started".to_owned(), docs.join("getting-started.md")));
    topics.extend(CONTRACTS.map(|name| (name.to_owned(), docs.join("reference").join(format!("{name}.md")))));
    topics.sort();
    let names: Vec<&str> = topics.iter().map(|(topic, _)| topic.as_str()).collect();
    assert_eq!(world.run(["guide", "--list", "--quiet"]).exits(0).stdout.lines().collect::<Vec<_>>(), names);
    for (topic, path) in &topics {
        let page = fs::read_to_string(path).unwrap();
        let printed = world.run(["guide", topic]).exits(0).stdout;
        assert!(!printed.contains("<!--") && !printed.contains("no-run"), "{printed}");
        // Every line of text is there, in its order.
        let mut lines = printed.lines();
        let mut is_comment = false;
        for line in page.lines().filter(|line| !line.is_empty()) {
            is_comment |= line.starts_with("<!--");
            if is_comment {
                is_comment = !line.ends_with("-->");
                continue;
            }
            let line = line.trim_end_matches(" no-run");
            assert!(lines.any(|said| said == line), "{topic}: {line}");
        }
        let document = world.json(["guide", topic]);
        assert_eq!((&document["topic"], &document["text"]), (&topic.as_str().into(), &printed.into()));
    }
    let list = world.json(["guide", "--list"]);
    assert_eq!(
        (list.as_array().unwrap().len(), &list[0]["title"]),
        (topics.len(), &"Agents: profiles and the Agent Client Protocol".into())
    );
}

#[test]
fn unknown_topic_names_the_nearest_and_a_page_is_a_topic() {
    let world = TestProject::uninitialized();
    let jobs = world.run(["guide", "jobs"]).exits(0).stdout;
    for spelled in ["docs/guides/jobs.md", "jobs.md", "Jobs"] {
        assert_eq!(world.run(["guide", spelled]).exits(0).stdout, jobs, "{spelled}");
    }
    let http = world.run(["guide", "http"]).exits(0).stdout;
    assert!(http.contains("- `POST /authorize`: "), "{http}");
    assert_eq!(world.run(["guide", "../reference/http.md"]).exits(0).stdout, http, "as the guides link it");
    // A guide that became a section of another one is still found by its name.
    for (former, topic) in [
        ("cron", "sessions"),
        ("plugins", "setup"),
        ("provider-events", "worker-api"),
        ("reviews-and-gates", "review"),
        ("sandbox", "guard"),
    ] {
        assert_eq!(world.json(["guide", former])["topic"], topic);
    }
    for (typed, topic) in [("job", "jobs"), ("machines", "several-machines"), ("sesions", "sessions")] {
        let error = world.run(["guide", typed, "--json"]).refuses(3, "not_found").error();
        assert_eq!(error["hint"], format!("did you mean {topic}: fairway guide {topic}"));
    }
    assert_eq!(
        world.transcript(&["fairway guide zzz", "fairway guide jobs --list"]),
        "$ fairway guide zzz\nerror: there is no guide 'zzz'\nhint: list the guides: fairway guide --list\n[exit 3]\n\
         $ fairway guide jobs --list\nerror: the argument '[TOPIC]' cannot be used with '--list'\n\
         hint: write it as: fairway guide <TOPIC>\n[exit 2]\n"
    );
}

/// An installed program comes without docs/guides, so no help sends a reader there.
#[test]
fn help_points_to_guides_that_the_program_prints() {
    let world = TestProject::uninitialized();
    let guide = regex::Regex::new(r"fairway\s+guide\s+([a-z][a-z-]+)").unwrap();
    let mut pointed = 0;
    let mut commands = vec![fairway::cli::command()];
    while let Some(mut command) = commands.pop() {
        let help = command.render_long_help().to_string();
        assert!(!help.contains("docs/guides"), "{help}");
        // An example without a topic is followed by the next example.
        for topic in guide.captures_iter(&help).filter(|topic| &topic[1] != "fairway") {
            world.run(["guide", &topic[1]]).exits(0);
            pointed += 1;
        }
        commands.extend(command.get_subcommands().cloned());
    }
    assert!(pointed >= 4, "{pointed}");
}
