//! `fairway config …`, `completions` and `man`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::common::TestProject;
use crate::common::terminal::at_terminal;
use crate::common::test_project::CommandOutput;

#[test]
fn every_value_names_its_source() {
    let mut world = TestProject::new();
    fs::write(
        world.root().join(".fairway.toml"),
        "[project]\nname = \"demo\"\n[claims]\nlease = \"30m\"\n[roles.backend]\nprovider = \"p\"\nenv = { A = \"1\" }\n\
         [[review_routes]]\npaths = [\"a/**\"]\ndomain = \"data\"\n",
    )
    .unwrap();
    fs::write(world.root().join(".fairway/local.toml"), "[claims]\nlease = \"10m\"\n").unwrap();
    world.set("FAIRWAY_TASKS_PREFIX", "PF");
    insta::assert_snapshot!(world.transcript(&["fairway config show", "fairway config check"]), @r#"
    $ fairway config show
    KEY                                    VALUE                                                                                                                                                SOURCE
    project.name                           "demo"                                                                                                                                               [world]/project/.fairway.toml
    project.base_branch                    "main"                                                                                                                                               default
    store.engine                           "sqlite"                                                                                                                                             default
    tasks.prefix                           "PF"                                                                                                                                                 FAIRWAY_TASKS_PREFIX
    claims.lease                           "10m"                                                                                                                                                [world]/project/.fairway/local.toml
    claims.path_conflicts                  "refuse"                                                                                                                                             default
    claims.own_lane_only                   false                                                                                                                                                default
    overlap.action                         "tell"                                                                                                                                               default
    review.capacity                        0                                                                                                                                                    default
    sessions.default_backend               "shell"                                                                                                                                              default
    sessions.stale_after                   "30m"                                                                                                                                                default
    sessions.launch_timeout                "60s"                                                                                                                                                default
    exec.parallel                          256                                                                                                                                                  default
    exec.keep_for                          "14d"                                                                                                                                                default
    exec.keep_bytes                        "1GiB"                                                                                                                                               default
    hooks.approval_wait                    "50s"                                                                                                                                                default
    agents.unfinished_after                "2m"                                                                                                                                                 default
    agents.silent_after                    "10m"                                                                                                                                                default
    agents.continue                        0                                                                                                                                                    default
    agents.resume                          true                                                                                                                                                 default
    agents.unguarded                       "show"                                                                                                                                               default
    gates.done.require                     ["evidence"]                                                                                                                                         default
    gates.merge.require                    ["evidence", "checks", "reviews", "handoffs_accepted", "no_open_questions", "clean_worktree", "based_on"]                                            default
    lanes.dir                              ".fairway/worktrees"                                                                                                                                 default
    lanes.setup_timeout                    "15m"                                                                                                                                                default
    lanes.setup_outside                    false                                                                                                                                                default
    lanes.regenerable                      [".venv", "node_modules", "target"]                                                                                                                  default
    lanes.ports                            "20000-29990"                                                                                                                                        default
    land.style                             "merge"                                                                                                                                              default
    land.through                           "base"                                                                                                                                               default
    land.merge                             false                                                                                                                                                default
    land.timeout                           "30m"                                                                                                                                                default
    land.retries                           1                                                                                                                                                    default
    land.batch                             4                                                                                                                                                    default
    land.width                             1                                                                                                                                                    default
    land.shared                            true                                                                                                                                                 default
    land.keep_agents                       false                                                                                                                                                default
    land.trailers                          ["Fairway-Task", "Fairway-Lane", "Assisted-by", "Reviewed-by"]                                                                                       default
    forge.script                           "github"                                                                                                                                             default
    roles.backend.provider                 "p"                                                                                                                                                  [world]/project/.fairway.toml
    roles.backend.env                      { A = "1" }                                                                                                                                          [world]/project/.fairway.toml
    providers.claude.resume_args           ["--resume", "{conversation}"]                                                                                                                       built in
    providers.codex.resume_args            ["resume", "{conversation}"]                                                                                                                         built in
    providers.copilot.resume_args          ["--resume={conversation}"]                                                                                                                          built in
    providers.gemini.resume_args           ["--resume", "{conversation}"]                                                                                                                       built in
    providers.kilo.resume_args             ["--session", "{conversation}"]                                                                                                                      built in
    providers.kimi.resume_args             ["-r", "{conversation}"]                                                                                                                             built in
    providers.opencode.resume_args         ["--session", "{conversation}"]                                                                                                                      built in
    providers.qwen.resume_args             ["--resume", "{conversation}"]                                                                                                                       built in
    providers.vibe.resume_args             ["--resume", "{conversation}"]                                                                                                                       built in
    providers.claude.interrupt_keys        ["Escape"]                                                                                                                                           built in
    providers.codex.interrupt_keys         ["Escape"]                                                                                                                                           built in
    providers.gemini.interrupt_keys        ["Escape"]                                                                                                                                           built in
    providers.opencode.interrupt_keys      ["Escape", "Escape"]                                                                                                                                 built in
    providers.qwen.interrupt_keys          ["Escape"]                                                                                                                                           built in
    providers.claude.trust_question        ["Yes, I trust this", "Do you want to use this API key?"]                                                                                            built in
    providers.codex.trust_question         ["1. Trust and continue", "Hooks need review", "Welcome to Codex, OpenAI"]                                                                           built in
    providers.copilot.trust_question       ["Do you trust the files in"]                                                                                                                        built in
    providers.gemini.trust_question        ["2. Trust parent"]                                                                                                                                  built in
    providers.kimi.trust_question          ["Trust this "]                                                                                                                                      built in
    providers.claude.permission_question   ["Do you want to proceed?", "Esc to cancel · Tab to amend", "Enter to stay in auto mode", "Enter to select · ", "Stop and wait for limit to reset"]  built in
    providers.codex.permission_question    ["Would you like to run the following command?", "Press enter to confirm or esc to cancel", "for lower credit usage?"]                               built in
    providers.copilot.permission_question  ["Do you want to run this command?"]                                                                                                                 built in
    providers.gemini.permission_question   ["Allow execution of", "No, suggest changes (esc)", "/model to switch models."]                                                                      built in
    providers.kimi.permission_question     ["Run this command?"]                                                                                                                                built in
    providers.vibe.permission_question     ["Permission for the "]                                                                                                                              built in
    providers.claude.working_sign          ["esc to interrupt"]                                                                                                                                 built in
    providers.codex.working_sign           ["esc to interrupt"]                                                                                                                                 built in
    providers.gemini.working_sign          ["(esc to cancel, "]                                                                                                                                 built in
    providers.antigravity.acp.command      ["agy-acp"]                                                                                                                                          built in
    providers.auggie.acp.command           ["auggie", "--acp"]                                                                                                                                  built in
    providers.claude.acp.command           ["claude-agent-acp"]                                                                                                                                 built in
    providers.cline.acp.command            ["cline", "--acp"]                                                                                                                                   built in
    providers.codex.acp.command            ["codex-acp"]                                                                                                                                        built in
    providers.copilot.acp.command          ["copilot", "--acp"]                                                                                                                                 built in
    providers.droid.acp.command            ["droid", "exec", "--output-format", "acp"]                                                                                                          built in
    providers.gemini.acp.command           ["gemini", "--acp"]                                                                                                                                  built in
    providers.goose.acp.command            ["goose", "acp"]                                                                                                                                     built in
    providers.hermes.acp.command           ["hermes-acp"]                                                                                                                                       built in
    providers.kilo.acp.command             ["kilo", "acp"]                                                                                                                                      built in
    providers.kimi.acp.command             ["kimi", "acp"]                                                                                                                                      built in
    providers.opencode.acp.command         ["opencode", "acp"]                                                                                                                                  built in
    providers.openhands.acp.command        ["openhands", "acp"]                                                                                                                                 built in
    providers.pi.acp.command               ["pi-acp"]                                                                                                                                           built in
    providers.qwen.acp.command             ["qwen", "--acp"]                                                                                                                                    built in
    providers.vibe.acp.command             ["vibe-acp"]                                                                                                                                         built in
    providers.claude.acp.mode              "default"                                                                                                                                            built in
    providers.cline.acp.mode               "act"                                                                                                                                                built in
    providers.codex.acp.mode               "read-only"                                                                                                                                          built in
    providers.copilot.acp.mode             "https://agentclientprotocol.com/protocol/session-modes#agent"                                                                                       built in
    providers.droid.acp.mode               "normal"                                                                                                                                             built in
    providers.gemini.acp.mode              "default"                                                                                                                                            built in
    providers.kilo.acp.mode                "code"                                                                                                                                               built in
    providers.kimi.acp.mode                "default"                                                                                                                                            built in
    providers.opencode.acp.mode            "build"                                                                                                                                              built in
    providers.qwen.acp.mode                "default"                                                                                                                                            built in
    providers.vibe.acp.mode                "ask"                                                                                                                                                built in
    providers.copilot.acp.usage            "process"                                                                                                                                            built in
    providers.vibe.acp.usage               "conversation"                                                                                                                                       built in
    sandbox.class                          "off"                                                                                                                                                default
    sandbox.take_back_limit                "4GiB"                                                                                                                                               default
    review_routes[].paths                  ["a/**"]                                                                                                                                             [world]/project/.fairway.toml
    review_routes[].domain                 "data"                                                                                                                                               [world]/project/.fairway.toml
    notify.sinks                           []                                                                                                                                                   default
    $ fairway config check
    the configuration is good: [world]/project/.fairway.toml, [world]/project/.fairway/local.toml
    not trusted: [world]/project/.fairway.toml has changed since it was trusted
    "#);
    let shown = world.json(["config", "show"]);
    let of = |key: &str| shown.as_array().unwrap().iter().find(|one| one["key"] == key).unwrap().clone();
    assert_eq!(of("claims.lease")["value"], "10m");
    assert_eq!(of("gates.done.require")["value"], serde_json::json!(["evidence"]));
    assert_eq!(of("roles.backend.env")["value"], serde_json::json!({ "A": "1" }));
    world.run(["task", "add", "x"]).exits(0);
    assert_eq!(world.json(["task", "list"])[0]["id"], "PF-1");
}

/// One sentence each, and it names the file and the key.
#[test]
fn config_errors_name_file_and_key() {
    let world = TestProject::new();
    let cases = [
        "[cliams]\nlease = \"1h\"",
        "[claims]\nleese = \"1h\"",
        "[claims]\nlease = \"soon\"",
        "[claims]\nlease = 30",
        "[claims]\npath_conflicts = \"maybe\"",
        "claims = 3",
        "claims = []",
        "tasks.prefix.x = 1",
        "[tasks]\nprefix = \"1\"",
        "[gates.done]\nrequire = \"evidence\"",
        "[gates.done]\nrequire = [1]",
        "[gates.done]\nrequire = [\"evidense\"]",
        "[roles.\"a b\"]\nprovider = \"p\"",
        "[roles.a]\nenv = { A = 1 }",
        "[roles.a]\nlane = \"no lane\"",
        "[sessions]\nstale_after = \"never\"",
        "[land]\nfind_pair = true",
        "[providers.p.limit]\nfield = \"x\"",
        "[backends.x]\nsetup = \"nobody\"",
        "[backends.x]\nsocket = \"\"",
        "[providers.p]\nprompt = \"shout\"",
        "[providers.p]\npromt = \"nudge\"",
        "[providers.p]\nprocess_names = \"claude\"",
        "[providers.p]\nprocess_names = [\"/bin/claude\"]",
        "[providers.p]\nready_prompt_prefix = \"a\\nb\"",
        "[providers.p]\nready_delay_ms = -1",
        "[roles.r]\nsession_setup = \"x\"",
        "[[review_routes]]\npaths = [\"/a\"]\ndomain = \"d\"",
        "[[review_routes]]\npaths = [\"a\"]",
        "[review_routes]\npaths = [\"a\"]",
        "x",
        "[a\n",
    ];
    let mut said = String::new();
    for text in cases {
        fs::write(world.root().join(".fairway.toml"), text).unwrap();
        let error = world.run(["config", "check", "--json"]).refuses(2, "config_invalid").error();
        let message = error["message"].as_str().unwrap();
        assert!(!message.contains('\n'), "{message:?}");
        said.push_str(&format!("{}\n  {message}\n", text.replace('\n', " ⏎ ")));
        // Whoever asks for work is told the same.
        world.run(["task", "list", "--json"]).refuses(2, "config_invalid");
    }
    insta::assert_snapshot!(world.redacted(&said), @r#"
    [cliams] ⏎ lease = "1h"
      [world]/project/.fairway.toml: unknown key 'cliams'; did you mean 'claims'?
    [claims] ⏎ leese = "1h"
      [world]/project/.fairway.toml: unknown key 'claims.leese'; did you mean 'lease'?
    [claims] ⏎ lease = "soon"
      [world]/project/.fairway.toml: claims.lease: 'soon' is not a span of time such as 30s, 10m or 2h
    [claims] ⏎ lease = 30
      [world]/project/.fairway.toml: claims.lease: is a number, not a text
    [claims] ⏎ path_conflicts = "maybe"
      [world]/project/.fairway.toml: claims.path_conflicts: 'maybe' is none of refuse, warn, off
    claims = 3
      [world]/project/.fairway.toml: claims: is a number, not a section
    claims = []
      [world]/project/.fairway.toml: claims: is a list, not a section
    tasks.prefix.x = 1
      [world]/project/.fairway.toml: tasks.prefix: is a table, not a text
    [tasks] ⏎ prefix = "1"
      [world]/project/.fairway.toml: tasks.prefix: '1' cannot begin a task id
    [gates.done] ⏎ require = "evidence"
      [world]/project/.fairway.toml: gates.done.require: is a text, not a list
    [gates.done] ⏎ require = [1]
      [world]/project/.fairway.toml: gates.done.require: is a number, not a text
    [gates.done] ⏎ require = ["evidense"]
      [world]/project/.fairway.toml: gates.done.require: 'evidense' is none of evidence, checks, reviews, handoffs_accepted, no_open_questions, clean_worktree, based_on, comments, reviewed_executables
    [roles."a b"] ⏎ provider = "p"
      [world]/project/.fairway.toml: roles.a b: name 'a b' must start with a-z, A-Z or 0-9 and contain only these, '_' and '-', at most 64 characters
    [roles.a] ⏎ env = { A = 1 }
      [world]/project/.fairway.toml: roles.a.env.A: is a number, not a text
    [roles.a] ⏎ lane = "no lane"
      [world]/project/.fairway.toml: roles.a.lane: lane 'no lane' must start with a-z, A-Z or 0-9 and contain only these, '_' and '-', at most 64 characters
    [sessions] ⏎ stale_after = "never"
      [world]/project/.fairway.toml: sessions.stale_after: 'never' is not a span of time such as 30s, 10m or 2h
    [land] ⏎ find_pair = true
      [world]/project/.fairway.toml: land.find_pair: is no setting any more: take the line out; the search always runs, and Ctrl-C ends it
    [providers.p.limit] ⏎ field = "x"
      [world]/project/.fairway.toml: providers.p.limit.field: is no setting any more: take the line out; Fairway knows it of the agents that it was tried with
    [backends.x] ⏎ setup = "nobody"
      [world]/project/.fairway.toml: backends.x.setup: 'nobody' is none of script, caller
    [backends.x] ⏎ socket = ""
      [world]/project/.fairway.toml: backends.x.socket: must be "default" or a path
    [providers.p] ⏎ prompt = "shout"
      [world]/project/.fairway.toml: providers.p.prompt: 'shout' is none of nudge, argument, stdin
    [providers.p] ⏎ promt = "nudge"
      [world]/project/.fairway.toml: unknown key 'providers.p.promt'; did you mean 'prompt'?
    [providers.p] ⏎ process_names = "claude"
      [world]/project/.fairway.toml: providers.p.process_names: is a text, not a list
    [providers.p] ⏎ process_names = ["/bin/claude"]
      [world]/project/.fairway.toml: providers.p.process_names: must be names of programs, without a path
    [providers.p] ⏎ ready_prompt_prefix = "a\nb"
      [world]/project/.fairway.toml: providers.p.ready_prompt_prefix: must be the beginning of one line
    [providers.p] ⏎ ready_delay_ms = -1
      [world]/project/.fairway.toml: providers.p.ready_delay_ms: must be 0 to 120000
    [roles.r] ⏎ session_setup = "x"
      [world]/project/.fairway.toml: roles.r.session_setup: is a text, not a list
    [[review_routes]] ⏎ paths = ["/a"] ⏎ domain = "d"
      [world]/project/.fairway.toml: review_routes[].paths: path '/a' must be relative to the root and stay inside it
    [[review_routes]] ⏎ paths = ["a"]
      [world]/project/.fairway.toml: review_routes: missing field `domain`
    [review_routes] ⏎ paths = ["a"]
      [world]/project/.fairway.toml: review_routes: is a section, not a list of sections; write [[review_routes]]
    x
      [world]/project/.fairway.toml is not valid TOML: line 1: key with no value, expected `=`
    [a ⏎ 
      [world]/project/.fairway.toml is not valid TOML: line 1: unclosed table, expected `]`
    "#);

    fs::write(world.root().join(".fairway.toml"), "").unwrap();
    fs::write(world.root().join(".fairway/local.toml"), "[sessions]\nstale_after = \"x\"\n").unwrap();
    let error = world.run(["config", "show", "--json"]).refuses(2, "config_invalid").error();
    assert!(error["message"].as_str().unwrap().contains("local.toml: sessions.stale_after"), "{error}");
    fs::remove_file(world.root().join(".fairway/local.toml")).unwrap();
    let mut world = world;
    world.set("FAIRWAY_CLAIMS_LEASE", "x");
    let error = world.run(["config", "show", "--json"]).refuses(2, "config_invalid").error();
    assert!(error["message"].as_str().unwrap().contains("FAIRWAY_CLAIMS_LEASE: claims.lease"), "{error}");
}

#[test]
fn empty_sections_are_harmless() {
    let world = TestProject::new();
    fs::write(world.root().join(".fairway.toml"), "review_routes = []\n[claims]\n[roles]\n[roles.a]\n[gates]\n")
        .unwrap();
    world.run(["config", "check"]).exits(0);
}

#[test]
fn example_configuration_is_valid() {
    let world = TestProject::uninitialized();
    let example = world.run(["config", "example"]).exits(0).stdout;
    assert_eq!(example, fairway_core::config::example());
    fs::write(world.root().join(".fairway.toml"), example).unwrap();
    world.run(["config", "check"]).exits(0);
}

#[test]
fn completions_and_manual_start_in_the_expected_format() {
    let world = TestProject::uninitialized();
    for (line, beginning) in [
        ("fairway config example", "#:schema .fairway/config.schema.json"),
        ("fairway completions fish", "# Print an optspec"),
        ("fairway man claim", ".ie"),
    ] {
        let printed = world.transcript(&[line]);
        assert!(printed.starts_with(&format!("$ {line}\n{beginning}")), "{printed}");
    }
}

#[test]
fn completions_and_manual_pages_know_every_verb() {
    let world = TestProject::uninitialized();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = world.run(["completions", shell]).exits(0).stdout;
        assert!(script.contains("create-worktree"), "{shell}");
    }
    let mut bash = world.command("bash");
    bash.args(["-n", "/dev/stdin"]).stdin(std::process::Stdio::piped());
    let mut child = bash.spawn().unwrap();
    let script = world.run(["completions", "bash"]).stdout;
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), script.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());

    let page = world.run(["man"]).exits(0).stdout;
    assert!(page.contains(".TH fairway 1") && page.contains("fairway\\-lane"), "{page}");
    let page = world.run(["man", "lane", "add"]).exits(0).stdout;
    assert!(page.contains("fairway\\-lane\\-add") && page.contains("create\\-worktree"), "{page}");
    world.run(["man", "lane", "ad", "--json"]).refuses(3, "not_found");

    // Every page for a package, none of the plumbing that is hidden.
    let dir = world.root().join("man");
    let run = world.run(["man", "--output", "man"]).exits(0);
    let pages = fs::read_dir(&dir).unwrap().count();
    assert_eq!(run.stdout, format!("wrote {pages} pages to {}\n", dir.display()));
    assert!(pages > 100, "{pages}");
    assert_eq!(fs::read_to_string(dir.join("fairway-lane-add.1")).unwrap(), page);
    assert!(dir.join("fairway.1").is_file() && !dir.join("fairway-complete.1").exists());
    world.run(["man", "lane", "--output", "man", "--json"]).refuses(2, "usage");
    fs::write(world.root().join("file"), "").unwrap();
    world.run(["man", "--output", "file/man", "--json"]).refuses(2, "invalid_value");
    world.run(["completions", "tcsh", "--json"]).refuses(2, "usage");
}

#[test]
fn configuration_without_an_end_is_refused() {
    let world = TestProject::new();
    let local = world.root().join(".fairway/local.toml");
    // As a cloned repository may bring them.
    std::os::unix::fs::symlink("/dev/zero", &local).unwrap();
    assert!(world.run(["task", "list"]).exits(1).stderr.contains("is not a file"));
    fs::remove_file(&local).unwrap();
    nix::unistd::mkfifo(&local, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert!(world.run(["task", "list"]).exits(1).stderr.contains("is not a file"));
    fs::remove_file(&local).unwrap();
    fs::write(&local, "#".repeat((1 << 20) + 1)).unwrap();
    assert!(world.run(["task", "list"]).exits(1).stderr.contains("longer than 1 MiB"));
}

/// An editor that writes the text of the next of these files into the file that it gets.
fn editor(world: &TestProject, texts: &[&str]) -> String {
    for (number, text) in texts.iter().enumerate() {
        fs::write(world.dir().join(format!("text-{}", number + 1)), text).unwrap();
    }
    let script = world.dir().join("editor.sh");
    let dir = world.dir().display();
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = --wait ] || exit 3\necho x >>{dir}/edits\nn=$(wc -l <{dir}/edits)\ncp \"$2\" {dir}/before-$n\ncp {dir}/text-$n \"$2\"\n"
    );
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    // As people have it: with an argument.
    format!("{} --wait", script.display())
}

#[test]
fn config_edit_writes_and_trusts_what_a_person_confirms() {
    let mut world = TestProject::new();
    let path = world.root().join(".fairway.toml");
    let before = fs::read_to_string(&path).unwrap();
    let good = format!("{before}[guard]\ndefault = \"deny\"\n");
    let editor = editor(&world, &["[guard\n", &good, &good, "", &format!("{good}# more\n")]);
    world.set("EDITOR", "false").set("VISUAL", &editor);
    // A wrong text is edited again; a person who does not confirm changes nothing.
    let steps = [("Edit it again? [y/N]", "y\n"), ("Write and trust this? [y/N]", "n\n")];
    let run = at_terminal(world.fairway(["config", "edit"]), &steps);
    assert_eq!(run.code, Some(5), "{run:?}");
    assert!(run.screen.contains("is not valid TOML: line 1") && run.screen.contains("+default = \"deny\""), "{run:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
    // The second edit begins with what the first one left.
    assert_eq!(fs::read_to_string(world.dir().join("before-2")).unwrap(), "[guard\n");
    let run = at_terminal(world.fairway(["config", "edit"]), &[("Write and trust this? [y/N]", "y\n")]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), good);
    assert_eq!(world.json(["config", "check"])["trust"], "trusted");
    // The local file, which is not there yet and stays empty.
    let run = at_terminal(world.fairway(["config", "edit", "--local"]), &[("Write and trust this? [y/N]", "y\n")]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(world.json(["config", "check"])["files"].as_array().unwrap().len(), 2);
    // No copy is left behind.
    assert_eq!(fs::read_dir(world.dir().join("home/.local/state/fairway/edit")).unwrap().count(), 0);
}

#[test]
fn config_edit_puts_a_wrong_file_right_and_takes_the_editor_that_git_takes() {
    let mut world = TestProject::new();
    let path = world.root().join(".fairway.toml");
    fs::write(&path, "[guard").unwrap();
    let editor = editor(&world, &["[guard]\n"]);
    world.set("EDITOR", &editor);
    let run = at_terminal(world.fairway(["config", "edit"]), &[("[y/N]", "y\n")]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(world.json(["config", "check"])["trust"], "trusted");
    world.set("EDITOR", "false");
    let run = at_terminal(world.fairway(["config", "edit"]), &[]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.screen.contains("the editor 'false' failed with exit code 1; nothing was changed"), "{run:?}");
}

#[test]
fn config_edit_needs_a_terminal() {
    let world = TestProject::new();
    insta::assert_snapshot!(world.transcript(&["fairway config edit"]), @"
    $ fairway config edit
    error: config edit needs a terminal to ask at
    hint: edit the file, then check and trust it: fairway config check && fairway trust
    [exit 2]
    ");
    world.run(["config", "edit", "--json"]).refuses(2, "usage");
}

#[test]
fn config_check_says_whether_the_text_is_trusted() {
    let world = TestProject::new();
    assert_eq!(world.json(["config", "check"])["trust"], "not_needed");
    fs::write(world.root().join(".fairway.toml"), "[roles.lead]\nmay = [\"answer\"]\n").unwrap();
    insta::assert_snapshot!(world.transcript(&["fairway config check", "fairway trust", "fairway config check"]), @"
    $ fairway config check
    the configuration is good: [world]/project/.fairway.toml
    not trusted: [world]/project/.fairway.toml has changed since it was trusted
    $ fairway trust
    trusted [world]/project: .fairway.toml
    $ fairway config check
    the configuration is good and trusted: [world]/project/.fairway.toml
    ");
    // Of a wrong text it says what is wrong, though another one is in force.
    fs::write(world.root().join(".fairway.toml"), "[approvals\n").unwrap();
    world.run(["config", "check", "--json"]).refuses(2, "config_invalid");
    let shown: CommandOutput = world.run(["config", "show", "--json"]).exits(0);
    assert!(shown.stdout.contains("\"roles.lead.may\"") && shown.stderr.contains("in force"), "{shown:?}");
    assert_eq!(shown.json().as_array().unwrap().iter().filter(|one| one["value"] == json!(["answer"])).count(), 1);
}

#[test]
fn config_check_names_every_problem() {
    let world = TestProject::new();
    let text = "x = 1\n[claims]\nlease = 'soon'\n[cliams]\nlease = '1h'\n[[review_routes]]\npahts = ['a']\ndomain = 'docs'\n[project]\nname = 3\n\
                [providers.claude]\ncomand = 'claude'\n";
    fs::write(world.root().join(".fairway.toml"), text).unwrap();
    let checked = world.run(["config", "check"]).exits(2).stderr;
    assert_eq!(checked.lines().filter(|line| line.starts_with("error: ")).count(), 6, "{checked}");
    assert!(checked.ends_with("hint: see every key and its values: fairway config example\n"), "{checked}");
    let error = world.run(["config", "check", "--json"]).refuses(2, "config_invalid").error();
    let problems: Vec<&str> =
        error["details"]["problems"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
    for part in ["'x'", "claims.lease", "'cliams'", "pahts", "project.name", "comand"] {
        assert!(problems.iter().any(|problem| problem.contains(part)), "{part}: {problems:#?}");
    }
    // One problem is said as by every command, and does not lead back here.
    fs::write(world.root().join(".fairway.toml"), "x = 1\n").unwrap();
    let (checked, other) = (world.run(["config", "check"]).exits(2).stderr, world.run(["status"]).exits(2).stderr);
    assert_eq!(checked.lines().next(), other.lines().next());
    assert!(!checked.contains("config check") && other.contains("hint: see all problems: fairway config check"));
    fs::write(world.root().join(".fairway.toml"), "x = \n").unwrap();
    assert!(world.run(["config", "check"]).exits(2).stderr.contains("is not valid TOML"));
}
