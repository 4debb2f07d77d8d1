//! The short pass: what an agent does in a project that `setup` made, in one turn each. The suite has the whole matrix with Claude Code
//! and Codex, and `just agents` with all of them.

use super::*;

/// Denied by a rule of setup.
const FORBIDDEN: &str = "git push --force";

fn passes_in_short(agent: Structured) {
    let Some(programs) = agent.programs() else { return };
    let (models, mut world) = (MockModels::start(), Sessions::with_git());
    let vars = agent.configure(&world, &models);
    let path = env::var_os("PATH").unwrap();
    world.set("PATH", env::join_paths([programs].into_iter().chain(env::split_paths(&path))).unwrap());
    let name = agent.provider();
    let vars: String = vars.iter().map(|(name, value)| format!("{name} = {value:?}\n")).collect();
    world.configure(&format!("[roles.dev]\nprovider = \"{name}\"\n[providers.{name}.env]\n{vars}"));
    let set_up = world.run(["setup", "--yes"]).exits(0).stdout;
    let left = set_up.lines().find(|line| line.ends_with("ask before a command (fairway doctor agents)"));
    assert!(left.is_some_and(|line| line.contains(name)), "{set_up}");
    let proven = world.json(["doctor", "agents", name, "--yes"]);
    assert_eq!(proven[0]["proof"]["proven"], true, "{proven}");
    let listed = world.json(["provider", "list"]);
    let listed = listed.as_array().unwrap().iter().find(|one| one["name"] == name).unwrap();
    let program = &listed["structured"];
    // The files around Vibe record none.
    assert!(program["version"] == program["proven_with"] || agent == Structured::Vibe, "{listed}");
    assert_eq!((&listed["proof"]["proven"], &listed["unproven"]), (&json!(true), &Value::Null), "{listed}");
    let mode = listed["asking_mode"].as_str().unwrap().to_owned();
    let scene = RealScene { world, models, agent, mode, id: RefCell::new("s".to_owned()) };
    scene.world.launch(&["--role", "dev", "--structured", "--id", "s", "--prompt", "the first words"]);
    scene.is_told("the first words");
    scene.wait_until_idle();
    scene.is_open();

    scene.has_it_run("touch allowed");
    scene.answer(&scene.asked("touch allowed"), &["allow"]);
    eventually("the command ran", || scene.has("allowed").then_some(()));
    scene.wait_until_idle();

    scene.has_it_run("touch denied");
    scene.answer(&scene.asked("touch denied"), &["deny", "--reason", "not this"]);
    scene.wait_until_idle();
    scene.has_it_run(FORBIDDEN);
    scene.shows("[denied: no-force-push");
    scene.wait_until_idle();
    assert!(!scene.has("denied") && scene.approvals().is_empty(), "{}", scene.peek());

    scene.has_it_run("touch cancelled");
    scene.asked("touch cancelled");
    scene.interrupt();
    scene.wait_until_idle();
    assert!(!scene.has("cancelled") && scene.approvals().is_empty(), "{}", scene.peek());

    let before = scene.decided().len();
    scene.prompt(&format!("do {} {}", agent.to_run("touch fine"), agent.to_run(FORBIDDEN)));
    // A decision of the guard comes before its question, so that both can be decided while one is still to be asked.
    eventually("both are decided, and the turn is over", || {
        scene.approvals().iter().for_each(|asked| scene.answer(asked, &["allow"]));
        (scene.decided().len() == before + 2 && scene.row()["activity"] == "idle").then_some(())
    });
    // Of calls that are asked about at once, what the guard denies for one is denied for all.
    assert_eq!(scene.has("fine"), !agent.asks_for_all(), "{}", scene.peek());

    let calls = scene.decided();
    assert_eq!((calls.len(), calls.iter().collect::<BTreeSet<_>>().len()), (6, 6), "{calls:?}");
    assert_eq!(scene.shown()["guarded"], true);
    let total = scene.world.json(["usage", "--by", "session", "--session", "s"])["total"].clone();
    // An answer of the model says what it read and wrote; a turn with a call has two, and a sum would have more.
    let told = total["turns"].as_u64().unwrap_or_default();
    assert_eq!(told > 0, agent.tells_usage(), "{total}");
    let most = scene.models.answered() * crate::common::mock_models::USED.2;
    assert!(total["output_tokens"].as_u64().unwrap_or_default() <= most, "{total}, at most {most}");
    scene.world.run(["session", "stop", "s"]).exits(0);
}

#[test]
fn gemini_asks_and_obeys() {
    passes_in_short(Structured::Known(Agent::Gemini));
}

#[test]
fn opencode_asks_and_obeys() {
    passes_in_short(Structured::OpenCode);
}

#[test]
fn qwen_asks_and_obeys() {
    passes_in_short(Structured::Qwen);
}

#[test]
fn copilot_asks_and_obeys() {
    passes_in_short(Structured::Copilot);
}

#[test]
fn kimi_asks_and_obeys() {
    passes_in_short(Structured::Kimi);
}

#[test]
fn droid_asks_and_obeys() {
    passes_in_short(Structured::Droid);
}

#[test]
#[ignore = "needs a newer Python; in `just agents`"]
fn vibe_asks_and_obeys() {
    passes_in_short(Structured::Vibe);
}

#[test]
#[ignore = "half a minute of the processor; in `just agents`"]
fn kilo_asks_and_obeys() {
    passes_in_short(Structured::Kilo);
}

#[test]
#[ignore = "minutes; in `just agents`"]
fn copilot_passes_the_matrix() {
    passes_the_matrix(Structured::Copilot);
}

#[test]
#[ignore = "minutes; in `just agents`"]
fn kimi_passes_the_matrix() {
    passes_the_matrix(Structured::Kimi);
}

#[test]
#[ignore = "minutes; in `just agents`"]
fn droid_passes_the_matrix() {
    passes_the_matrix(Structured::Droid);
}

#[test]
#[ignore = "minutes; in `just agents`"]
fn vibe_passes_the_matrix() {
    passes_the_matrix(Structured::Vibe);
}

#[test]
#[ignore = "minutes; in `just agents`"]
fn kilo_passes_the_matrix() {
    passes_the_matrix(Structured::Kilo);
}
