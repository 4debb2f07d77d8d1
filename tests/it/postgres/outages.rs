//! An outage of the server while a command or a hook waits: it goes on afterwards, and misses nothing of the meantime.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::{fs, thread};

use serde_json::json;

use super::followers::OUTAGE;
use super::wait_for;
use super::waiting::{Printing, listeners};
use crate::common::TestProject;
use crate::common::test_project::{CommandOutput, FAIRWAY};
use crate::common::unsteady_network::UnsteadyNetwork;
use crate::hooks::{event, started};

/// A project whose commands reach the server directly, and the network of the one that a test disturbs.
struct Reach {
    world: TestProject,
    network: UnsteadyNetwork,
}

impl Reach {
    fn start(world: TestProject) -> Self {
        world.real_time();
        let network = UnsteadyNetwork::start(world.on_server.as_ref().unwrap().0.port());
        Self { world, network }
    }

    fn name(&self) -> String {
        format!("cut-{}", self.world.on_server.as_ref().unwrap().1)
    }

    /// The store's address over the network.
    fn address(&self) -> String {
        let (server, schema) = self.world.on_server.as_ref().unwrap();
        let address = server.network_address("127.0.0.1", self.network.port(), schema);
        format!("{address}&connect_timeout=2&application_name={}", self.name())
    }

    /// Waits until a process listens over the network.
    fn listens(&self) {
        let (server, schema) = self.world.on_server.as_ref().unwrap();
        wait_for(|| (listeners(server, schema, &self.name()) == "1").then_some(()));
    }

    /// A hook over the network.
    fn hook(&self, name: &str) -> Command {
        let mut hook = self.world.fairway(["hook", "claude", name]);
        hook.env("FAIRWAY_STORE_URL", self.address());
        hook
    }

    /// A wake hook over the network, with this process as the agent.
    fn wake_hook(&self) -> Child {
        let mut hook = self.hook("wait");
        hook.env("CLAUDE_PID", std::process::id().to_string());
        started(hook, event("Stop", "a", json!({})).to_string().as_bytes())
    }

    /// A session that the provider's hook made known; its id.
    fn session(&self) -> String {
        self.world.hook("claude", &event("SessionStart", "a", json!({ "source": "startup" }))).exits(0);
        self.world.session()["id"].as_str().unwrap().to_owned()
    }
}

#[test]
fn overlap_wait_goes_on_after_an_outage_and_ends_with_the_outage_at_its_limit() {
    let Some(world) = TestProject::on_postgres() else { return };
    let root = world.root();
    world.git(&root, &["init", "--quiet", "--initial-branch=main"]);
    fs::write(root.join("code.txt"), "code\n").unwrap();
    world.git(&root, &["add", "code.txt"]);
    world.git(&root, &["commit", "--quiet", "--message=begin"]);
    for lane in ["api", "web"] {
        world.run(["lane", "add", lane, "--create-worktree"]).exits(0);
    }
    let reach = Reach::start(world);
    let overlap = Printing::start(&reach.world, &["overlap", "--wait", "10m"], Some(reach.address()));
    reach.listens();
    reach.network.cut_off();
    overlap.line("waiting for it");
    reach.network.mend();
    // The overlaps of the beginning are known by now.
    overlap.line("answers again");
    reach.network.cut_off();
    overlap.line("waiting for it");
    for lane in ["api", "web"] {
        fs::write(root.join(".fairway/worktrees").join(lane).join("code.txt"), lane).unwrap();
    }
    reach.network.mend();
    overlap.line("a merge of the two conflicts");
    drop(overlap);

    let mut overlap = Printing::start(&reach.world, &["overlap", "--wait", "10s", "--json"], Some(reach.address()));
    reach.listens();
    reach.network.cut_off();
    overlap.line("store_unreachable");
    assert_eq!(overlap.end(), Some(8));
}

#[test]
fn wake_hook_delivers_after_an_outage_what_was_sent_meanwhile() {
    let Some(world) = TestProject::on_postgres() else { return };
    let reach = Reach::start(world);
    let session = reach.session();
    let hook = reach.wake_hook();
    reach.listens();
    reach.network.cut_off();
    let message = reach.world.json(["message", "send", "--to-session", &session, "wake up"])["id"].to_string();
    reach.network.mend();
    let run = CommandOutput::from(hook.wait_with_output().unwrap()).exits(2);
    assert!(run.stderr.contains("  | wake up\n") && run.stderr.matches("wake up").count() == 1, "{run:#?}");
    let delivered = format!("SELECT status || ' ' || channel FROM messages WHERE id = {message}");
    assert_eq!(reach.world.value(&delivered), "acknowledged wake");
}

#[test]
fn wake_hook_that_begins_in_an_outage_waits_for_its_end() {
    let Some(world) = TestProject::on_postgres() else { return };
    let reach = Reach::start(world);
    let session = reach.session();
    reach.network.cut_off();
    let mut hook = reach.wake_hook();
    // Longer than a command looks for its server.
    thread::sleep(OUTAGE);
    assert_eq!(hook.try_wait().unwrap(), None);
    reach.network.mend();
    reach.listens();
    reach.world.run(["message", "send", "--to-session", &session, "wake up"]).exits(0);
    let run = CommandOutput::from(hook.wait_with_output().unwrap()).exits(2);
    assert!(run.stderr.contains("  | wake up\n"), "{run:#?}");
}

#[test]
fn wake_hook_ends_with_its_agent_in_an_outage() {
    let Some(world) = TestProject::on_postgres() else { return };
    let reach = Reach::start(world);
    reach.network.cut_off();
    // A program that starts the hook and stays above it, as an agent does.
    let script = r#"printf '%s' "$PAYLOAD" | CLAUDE_PID=$$ "$FAIRWAY" hook claude wait & wait"#;
    let mut agent = reach.world.command("sh");
    agent.args(["-c", script]).env("FAIRWAY", FAIRWAY).env("FAIRWAY_STORE_URL", reach.address());
    agent.env("PAYLOAD", event("Stop", "a", json!({})).to_string());
    let mut agent = agent.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    thread::sleep(OUTAGE);
    agent.kill().unwrap();
    agent.wait().unwrap();
    // The hook has ended when nothing holds its stderr any more.
    let mut said = String::new();
    agent.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(said, "");
}

#[test]
fn permission_request_gets_the_answer_of_the_time_of_an_outage() {
    let Some(world) = TestProject::on_postgres() else { return };
    let reach = Reach::start(world);
    reach.session();
    let asks = json!({ "tool_name": "Bash", "tool_input": { "command": "touch x" }, "tool_use_id": "t-1" });
    // Without an agent's process: this one answers below.
    let asks = event("PermissionRequest", "a", asks).to_string();
    let hook = started(reach.hook("PermissionRequest"), asks.as_bytes());
    let pending = || Some(reach.world.json(["approvals", "list"]).as_array()?.first()?["id"].to_string());
    let id = wait_for(pending);
    reach.listens();
    reach.network.cut_off();
    reach.world.run(["approvals", "answer", &id, "allow", "--reason", "because"]).exits(0);
    // The hook has seen that the server is away.
    thread::sleep(OUTAGE);
    reach.network.mend();
    let run = CommandOutput::from(hook.wait_with_output().unwrap()).exits(0);
    assert_eq!(run.json()["hookSpecificOutput"]["decision"]["behavior"], "allow", "{run:#?}");
}
