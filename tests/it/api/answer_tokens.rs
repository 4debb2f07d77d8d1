//! Answers by the tokens of notifications, as a phone, a program that looks at links, and an attacker send them.

use super::page_client::{Client, Page, code_path};
use super::*;
use crate::common::fixtures::{add_approval, ask_by_checkpoint};

/// The actions of the newest notification, once there are so many.
fn actions(world: &TestProject, count: usize) -> Vec<Value> {
    let documents = eventually("the notification", || {
        let text = fs::read_to_string(world.dir().join("sent.jsonl")).unwrap_or_default();
        let lines: Vec<Value> = text.lines().map_while(|line| serde_json::from_str(line).ok()).collect();
        (lines.len() >= count).then_some(lines)
    });
    documents[count - 1]["actions"].as_array().unwrap().clone()
}

/// Posts a body as a program does that has nothing but the address: without a cookie and an origin.
fn post(client: &Client, body: &str) -> Page {
    let fields: Vec<(&str, &str)> = body.split('&').filter_map(|field| field.split_once('=')).collect();
    client.post_with("/answer", "accept: application/json\r\n", &fields)
}

fn status(world: &TestProject, id: i64) -> String {
    world.value(&format!("SELECT status FROM approvals WHERE id = {id}"))
}

#[test]
fn notification_answers_its_item_once_and_nothing_else() {
    let world = world();
    let sink = format!("cat >>'{}'", world.dir().join("sent.jsonl").display());
    configure(
        &world,
        &format!("[notify]\nsinks = ['phone']\n[notify.per_sink.phone]\ncommand = {sink:?}\nactions = true"),
    );
    let server = Server::start(&world, &["--http", "--listen", "127.0.0.1"]);
    let origin = server.at["page"].as_str().unwrap().to_owned();
    let client = Client { port: server.port(), origin, cookie: String::new() };
    let ask = || add_approval(&world, "s1", "Bash", true);
    let first = ask();
    world.run(["task", "add", "N-1", "wakes the server"]).exits(0);
    let [allow, deny] = &actions(&world, 1)[..] else { panic!("not two actions") };
    let body = |action: &Value| action["body"].as_str().unwrap().to_owned();
    let (allowing, denying) = (body(allow), body(deny));
    assert_eq!(
        (&allow["action"], &allow["label"], &deny["action"]),
        (&json!("allow"), &json!("Allow"), &json!("deny"))
    );
    assert_eq!(allow["url"], json!(format!("{}/answer", client.origin)), "the network is not encrypted");
    // A look at the link changes nothing, whatever looks.
    let form = code_path(allow["form"].as_str().unwrap());
    for _ in 0..2 {
        let page = client.get(&form);
        assert_eq!(page.status, 200, "{}", page.body);
        assert!(page.body.contains("<form method=\"post\" action=\"answer\">") && page.body.contains("Bash: ls"));
    }
    assert_eq!(client.get("/").status, 401, "the token opens no page");
    for wrong in ["token=", "token=00", &denying.to_uppercase(), &format!("{allowing}0")] {
        assert_eq!(post(&client, wrong).code(), (403, "token_unknown".into()), "{wrong}");
    }
    // In the network without encryption no token is taken.
    let listen = server.at["listen"].as_str().unwrap();
    let network = Client {
        port: listen.rsplit(':').next().unwrap().parse().unwrap(),
        origin: format!("http://{listen}"),
        cookie: String::new(),
    };
    assert_eq!(post(&network, &allowing).code(), (403, "not_admitted".into()));
    assert_eq!(status(&world, first), "pending");
    let done = post(&client, &allowing);
    assert_eq!((done.status, status(&world, first).as_str()), (200, "allowed"), "{}", done.body);
    assert_eq!(done.json()["command"], json!(format!("fairway approvals answer {first} allow")));
    for again in [&allowing, &denying] {
        assert_eq!(post(&client, again).code(), (410, "token_used".into()));
    }
    assert_eq!(client.get(&form).status, 410);
    // Nothing of a token is kept.
    let file = world.root().join(".fairway/answer-tokens.json");
    let kept = fs::read_to_string(&file).unwrap();
    assert!(!kept.contains(allowing.split_once('=').unwrap().1), "{kept}");
    assert_eq!(std::os::unix::fs::MetadataExt::mode(&fs::metadata(&file).unwrap()) & 0o777, 0o600);
    // What somebody else has answered, and what has ended, is not answered again.
    let second = ask();
    world.run(["task", "add", "N-2", "wakes the server"]).exits(0);
    let late = body(&actions(&world, 2)[0]);
    world.run(["approvals", "answer", &second.to_string(), "deny"]).exits(0);
    assert_eq!(post(&client, &late).code(), (410, "token_used".into()));
    assert_eq!(status(&world, second), "denied");
    let third = ask();
    world.run(["task", "add", "N-3", "wakes the server"]).exits(0);
    let ended = body(&actions(&world, 3)[1]);
    let kept = fs::read_to_string(&file).unwrap();
    let mut content: Value = serde_json::from_str(&kept).unwrap();
    for token in content["tokens"].as_array_mut().unwrap() {
        token["expires_at"] = json!(1);
    }
    fs::write(&file, content.to_string()).unwrap();
    assert_eq!(post(&client, &ended).code(), (410, "token_expired".into()));
    fs::write(&file, kept).unwrap();
    // Another line under the same id is another request.
    world.write_rows(&format!("UPDATE approvals SET input = '{{\"command\":\"rm -rf /\"}}' WHERE id = {third}"));
    world.run(["task", "add", "N-4", "wakes the server"]).exits(0);
    assert_eq!(post(&client, &ended).code(), (410, "token_used".into()));
    assert_eq!(status(&world, third), "pending");
    world.run(["approvals", "answer", &third.to_string(), "deny"]).exits(0);
    // An answer needs its text, and misses its question when another one is asked.
    world.run(["task", "add", "T-1", "refunds"]).exits(0);
    world.run(["--session", "s1", "claim", "T-1"]).exits(0);
    ask_by_checkpoint(&world, "s1", "T-1", "net or gross?");
    let question = actions(&world, 4);
    assert_eq!((question[0]["action"].as_str(), question[0]["needs_text"].as_bool()), (Some("answer"), Some(true)));
    let answering = body(&question[0]);
    let page = client.get(&code_path(question[0]["form"].as_str().unwrap()));
    assert!(page.body.contains("net or gross?") && page.body.contains("<textarea name=\"text\""), "{}", page.body);
    assert_eq!(post(&client, &format!("{answering}&text= ")).code(), (400, "usage".into()));
    ask_by_checkpoint(&world, "s1", "T-1", "which country?");
    let newer = body(&actions(&world, 5)[0]);
    assert_eq!(post(&client, &format!("{answering}&text=net")).code(), (410, "token_used".into()));
    // One that cannot be delivered is told, and not tried twice.
    let told = post(&client, &format!("{newer}&text=Chile"));
    assert!(told.status == 200 || told.status == 409 || told.status == 403, "{} {}", told.status, told.body);
    assert_eq!(post(&client, &format!("{newer}&text=Peru")).code(), (410, "token_used".into()));
    // A server of a session is no person's.
    let fourth = ask();
    world.run(["task", "add", "N-5", "wakes the server"]).exits(0);
    let unused = body(&actions(&world, 6)[0]);
    assert_eq!(server.end().code, Some(0));
    let mut command = world.fairway(["serve", "--json", "--http"]);
    let server = Server::of(command.env("FAIRWAY_SESSION_ID", "s1"));
    let origin = server.at["page"].as_str().unwrap().to_owned();
    let client = Client { port: server.port(), origin, cookie: String::new() };
    assert_eq!(post(&client, &unused).code(), (403, "token_unknown".into()));
    assert_eq!(status(&world, fourth), "pending");
}
