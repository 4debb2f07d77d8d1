//! A client that is not ours.

use super::*;

#[test]
fn curl_works_with_socket_and_port() {
    let world = world();
    let server = Server::start(&world, &["--http"]);
    let socket = runtime(&world).join("worker.sock");
    let curl = |args: &[&str]| {
        let mut command = world.command("curl");
        let run: CommandOutput =
            command.args(["--silent", "--show-error", "--max-time", "20"]).args(args).output().unwrap().into();
        run.exits(0).stdout
    };
    let at = socket.to_str().unwrap();
    let health: Value = serde_json::from_str(&curl(&["--unix-socket", at, "http://x/health"])).unwrap();
    assert_eq!(health["pid"], server.pid());
    let run = run_of(&world, "s1");
    let body = json!({ "run_id": run, "content": "from curl" }).to_string();
    let status = ["--write-out", "%{http_code}", "--output", "/dev/null"];
    let words = [&["--unix-socket", at, "--json", &body, "http://x/prompt"][..], &status].concat();
    assert_eq!(curl(&words), "200");
    let token = fs::read_to_string(runtime(&world).join("worker.token")).unwrap();
    let url = format!("http://127.0.0.1:{}/health", server.port());
    let bearer = format!("authorization: Bearer {token}");
    assert_eq!(curl(&[&["--header", &bearer, &url][..], &status].concat()), "200");
    assert_eq!(curl(&[&[url.as_str()][..], &status].concat()), "401");
    // It waits for leave to send so much, and hears the answer all the same.
    let huge = world.dir().join("huge");
    fs::write(&huge, vec![b'x'; 2 << 20]).unwrap();
    let data = format!("@{}", huge.display());
    let words = [&["--unix-socket", at, "--data-binary", &data, "http://x/prompt"][..], &status].concat();
    assert_eq!(curl(&words), "413");
}
