//! Who listens for a session, across processes.

use std::{
    process::{Child, Stdio},
    time::Duration,
};

use fairway::{
    actions::prompt::listener::{self, Kind},
    os::{detach, wait},
};

use super::{app_at, hook, id};
use crate::common::{
    World,
    again::{again, part, place},
    cast,
};

/// The part of a hook that waits until another takes its place.
fn listen() {
    let app = app_at(&place(), "s1", fairway::env::Env::real().now());
    let listener = listener::listen(&app, &id("s1"), Kind::Wait).unwrap();
    while !listener.is_replaced() {
        detach::sleep(&[std::os::fd::AsFd::as_fd(&listener)], None);
    }
}

#[test]
fn one_listener_at_a_time() {
    const NAME: &str = "prompt::listener::one_listener_at_a_time";
    if part().is_some() {
        return listen();
    }
    let world = World::new();
    cast::session(&world, "s1", "frontend", None);
    let app = hook(&world, "s1");
    let start = || -> Child {
        again(&world, NAME, "hook", &world.root()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let eventually = |what: &str, ask: &mut dyn FnMut() -> bool| {
        let found = wait::until(Duration::from_secs(20), Duration::from_millis(5), || ask().then_some(()));
        found.unwrap_or_else(|| panic!("never: {what}"));
    };
    assert!(!listener::listens(&app, &id("s1")));
    let mut first = start();
    eventually("the first listens", &mut || listener::listens(&app, &id("s1")));
    assert!(!listener::has(&app, &id("s1"), Kind::Stream) && !listener::listens(&app, &id("s2")));
    let mut second = start();
    // It ends by itself, and by nothing else.
    assert!(first.wait().unwrap().success());
    assert!(listener::listens(&app, &id("s1")) && second.try_wait().unwrap().is_none());
    second.kill().unwrap();
    second.wait().unwrap();
    assert!(!listener::listens(&app, &id("s1")));
    let left = std::fs::read_dir(world.root().join(".fairway/runtime/listen")).unwrap().flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["turns"], "a dead one's socket is swept away");
}
