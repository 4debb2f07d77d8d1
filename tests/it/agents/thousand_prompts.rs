//! A thousand prompts: none is lost, and none told twice.

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use fairway_core::api_client::ApiClient;
use fairway_core::os::poll_until;
use serde_json::json;

use super::Scene;
use crate::common::agent_programs::Agent;
use crate::sessions::{eventually, text};

const ALL: usize = 1_000;
/// So many of them by the command line, the others through the socket.
const BY_COMMAND: usize = 50;

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn words(number: usize) -> String {
    format!("word {number:04} of a thousand")
}

#[test]
fn claude_code_gets_a_thousand_prompts_once_each() {
    let Some(scene) = Scene::of(Agent::Claude) else { return };
    let world = &scene.world;
    let session = world.launch(&["--role", "dev", "--name", "s"]);
    let server = Server(world.fairway(["serve"]).stdout(Stdio::null()).spawn().unwrap());
    let runtime = world.root().join(".fairway/runtime");
    eventually("it serves", || ApiClient::connect(&runtime, Duration::from_secs(5)).map(drop));
    thread::scope(|scope| {
        for part in 0..2 {
            let (runtime, run) = (&runtime, &session["run_id"]);
            scope.spawn(move || {
                let mut link = ApiClient::connect(runtime, Duration::from_secs(30)).unwrap();
                for number in (BY_COMMAND..ALL).filter(|number| number % 2 == part) {
                    let body = json!({ "run_id": run, "content": words(number) }).to_string();
                    let reply = link.post("/prompt", body.as_bytes()).unwrap();
                    assert_eq!(reply.status, 200, "{}", String::from_utf8_lossy(&reply.body));
                }
            });
        }
        scope.spawn(|| {
            for number in 0..BY_COMMAND {
                scene.prompt("s", "normal", &words(number));
            }
        });
    });
    let open = || world.rows("SELECT id FROM messages WHERE status != 'acknowledged'").len();
    let done =
        poll_until::poll_until(Duration::from_secs(60), Duration::from_millis(100), || (open() == 0).then_some(()));
    assert!(done.is_some(), "{} of them are open", open());
    // The prompt that woke it is told with its next request.
    let odd = || {
        let heard = scene.models.requests().pop();
        let times = |number| heard.as_ref().map_or(0, |last| last.count(&words(number)));
        (0..ALL).map(|number| (number, times(number))).filter(|(_, times)| *times != 1).collect::<Vec<_>>()
    };
    poll_until::poll_until(Duration::from_secs(10), Duration::from_millis(100), || odd().is_empty().then_some(()));
    let odd = odd();
    assert!(odd.is_empty(), "{} of them were not told once: {odd:?}", odd.len());
    println!("{ALL} prompts in {} answers of the model", scene.models.answered());
    drop(server);
    world.run(["session", "stop", "s"]).exits(0);
    let _ = Command::new("tmux").args(["-S", &text(&session["socket"]), "kill-server"]).output();
}
