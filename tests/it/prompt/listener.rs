//! The listener of a session, across processes.

use std::process::{Child, Stdio};
use std::time::Duration;

use fairway_actions::sessions::prompt::listener::{self, ListenerKind};
use fairway_core::os::{poll, poll_until};

use super::{app_at, hook, id};
use crate::common::reexec::{part, part_dir, reexec};
use crate::common::{TestProject, fixtures};

/// The part of a hook that waits until another takes its place.
fn listen() {
    let app = app_at(&part_dir(), "s1", fairway_core::env::Env::from_process().now());
    let listener = listener::listen(&app, &id("s1"), ListenerKind::WakeHook).unwrap();
    while !listener.is_superseded() {
        poll::wait_readable(&[std::os::fd::AsFd::as_fd(&listener)], None);
    }
}

#[test]
fn second_listener_of_a_name_is_refused() {
    const NAME: &str = "prompt::listener::second_listener_of_a_name_is_refused";
    if part().is_some() {
        return listen();
    }
    let world = TestProject::new();
    fixtures::add_session(&world, "s1", "frontend", None);
    let app = hook(&world, "s1");
    let start = || -> Child {
        reexec(&world, NAME, "hook", &world.root()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let eventually = |what: &str, ask: &mut dyn FnMut() -> bool| {
        let found = poll_until::poll_until(Duration::from_secs(20), Duration::from_millis(5), || ask().then_some(()));
        found.unwrap_or_else(|| panic!("never: {what}"));
    };
    assert!(!listener::has_any(&app, &id("s1")));
    let mut first = start();
    eventually("the first listens", &mut || listener::has_any(&app, &id("s1")));
    assert!(!listener::has_kind(&app, &id("s1"), ListenerKind::Stream) && !listener::has_any(&app, &id("s2")));
    let mut second = start();
    // It ends by itself, and by nothing else.
    assert!(first.wait().unwrap().success());
    assert!(listener::has_any(&app, &id("s1")) && second.try_wait().unwrap().is_none());
    second.kill().unwrap();
    second.wait().unwrap();
    assert!(!listener::has_any(&app, &id("s1")));
    let left = std::fs::read_dir(world.root().join(".fairway/runtime/listen")).unwrap().flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["turns"], "a dead one's socket is swept away");
}
