//! `fairway mcp` from outside: a client on two pipes.

mod guard;
mod lifetime;
mod locked_store;
mod protocol_versions;
mod run;
mod same_store;
mod session;
mod text;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use serde_json::{Value, json};

use crate::common::TestProject;

/// A running server and its client.
pub struct Client {
    pub child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    next: u64,
}

/// The answer of a tool.
#[derive(Debug)]
pub struct Answered {
    pub is_error: bool,
    pub text: String,
    pub document: Value,
}

impl Answered {
    /// The answer in a result of `tools/call`.
    #[track_caller]
    fn of(response: &Value) -> Self {
        let result = &response["result"];
        assert!(result.is_object(), "{response}");
        Self {
            is_error: result["isError"] == true,
            text: result["content"][0]["text"].as_str().unwrap().to_owned(),
            document: result["structuredContent"].clone(),
        }
    }

    #[track_caller]
    pub fn succeeds(self) -> Self {
        assert!(!self.is_error, "{self:#?}");
        self
    }

    #[track_caller]
    pub fn refuses(self, code: &str) -> Self {
        assert!(self.is_error && self.document["error"]["code"] == code, "{self:#?}");
        assert!(self.text.contains(&format!("\ncode: {code}")), "{}", self.text);
        self
    }
}

impl Client {
    /// Starts the server in this world, with what its commands have in their environment.
    pub fn start(world: &TestProject) -> Self {
        Self::of(world.fairway(["mcp"]))
    }

    /// Starts the server for a session of the world.
    pub fn of_session(world: &TestProject, session: &str) -> Self {
        let mut command = world.fairway(["mcp"]);
        command.env("FAIRWAY_SESSION_ID", session);
        Self::of(command)
    }

    pub fn of(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().unwrap());
        Self { child, stdin, stdout: BufReader::new(stdout), next: 0 }
    }

    pub fn write(&mut self, text: &str) {
        self.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    pub fn send(&mut self, message: &Value) {
        self.write(&format!("{message}\n"));
    }

    /// The next message of the server.
    #[track_caller]
    pub fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// A request with the next number, and its answer.
    #[track_caller]
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params }));
        let answer = self.receive();
        assert_eq!(answer["id"], self.next, "{answer}");
        answer
    }

    /// Calls a tool.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: Value) -> Answered {
        Answered::of(&self.request("tools/call", json!({ "name": tool, "arguments": arguments })))
    }

    pub fn close_input(&mut self) {
        self.stdin = None;
    }

    /// Ends the input; answers how the server ended.
    pub fn end(mut self) -> ExitStatus {
        self.close_input();
        self.child.wait().unwrap()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.stdin = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A world with a session that has claimed a task with a check.
fn at_work() -> TestProject {
    let world = TestProject::new();
    world.real_time();
    world.run(["task", "add", "--id", "T-1", "Fix the total", "--check", "unit=echo fine"]).exits(0);
    world.run(["task", "add", "--id", "T-2", "Gift cards", "--depends-on", "T-1"]).exits(0);
    world.run(["session", "upsert", "--id", "s1", "--role", "dev"]).exits(0);
    world.run(["claim", "T-1", "--session", "s1"]).exits(0);
    world
}
