//! An agent that misbehaves: its session goes on, or ends with a reason.

use super::Scene;

#[test]
fn garbage_half_frames_unknown_requests_and_floods_do_no_harm() {
    let scene = Scene::launched();
    scene.prompt("GARBAGE HALF UNKNOWN");
    let shown = scene.shows("did: GARBAGE");
    assert!(shown.contains("a whole word") && shown.contains("unknown: -32601"), "{shown}");
    assert!(!shown.contains('\u{1b}') && !shown.contains("no frame"), "{shown}");
    scene.wait_until_idle();
    scene.prompt("FLOOD");
    scene.wait_until_idle();
    scene.prompt("after the flood");
    scene.shows("did: after the flood");
    assert_eq!(scene.session("s")["status"], "running");
}

#[test]
fn agent_that_ends_in_a_turn_ends_its_session() {
    let scene = Scene::launched();
    scene.prompt("DIE");
    crate::sessions::eventually("its end", || (scene.session("s")["status"] == "failed").then_some(()));
    assert_eq!(scene.session("s")["exit_code"], "7");
}
