//! `fairway session launch`, `peek`, `stop`.

use crate::common::TestProject;

#[test]
fn session_launch_is_as_recorded_to_its_end() {
    let world = TestProject::new();
    world.real_time();
    insta::assert_snapshot!(world.transcript(&[
        "fairway session launch --role backend --name s1 -- sh -c 'echo hello; echo API_KEY=abc; sleep 300'",
        "fairway session launch --role backend --name s1 -- true",
        "fairway session peek s1",
        "fairway session peek s1 --lines 1 --quiet",
        "fairway session stop s1",
        "fairway session stop s1",
        "fairway session peek s1 --lines 2",
        "fairway session launch --role backend --name s2 -- true",
        "fairway session launch --role backend --name s3 -- false",
        "fairway session launch --role backend --name s4 -- no-such-program",
        "fairway session launch --role backend --backend shel",
        "fairway session launch --role backend --task-id T-7",
        "fairway session launch --role backend --command 'A=1 true' --name s5 --quiet",
        "fairway session stop s6",
    ]), @"
    $ fairway session launch --role backend --name s1 -- sh -c 'echo hello; echo API_KEY=abc; sleep 300'
    launched s1
      attach: fairway session attach s1
      peek: fairway session peek s1
      stop: fairway session stop s1
    $ fairway session launch --role backend --name s1 -- true
    error: session 's1' already exists
    [exit 4]
    $ fairway session peek s1
    hello
    API_KEY=•••
    $ fairway session peek s1 --lines 1 --quiet
    s1
    $ fairway session stop s1
    stopped s1
    $ fairway session stop s1
    unchanged: s1 has already ended
    $ fairway session peek s1 --lines 2
    hello
    API_KEY=•••
    $ fairway session launch --role backend --name s2 -- true
    launched s2; its program has already ended with exit code 0
    $ fairway session launch --role backend --name s3 -- false
    error: s3 was started, but its program ended with exit code 1
    hint: see its last output: fairway session peek s3
    [exit 7]
    $ fairway session launch --role backend --name s4 -- no-such-program
    error: there is no program 'no-such-program'
    [exit 3]
    $ fairway session launch --role backend --backend shel
    error: there is no backend 'shel'
    hint: did you mean shell?
    [exit 3]
    $ fairway session launch --role backend --task-id T-7
    error: there is no task 'T-7'
    hint: list the tasks: fairway task list
    [exit 3]
    $ fairway session launch --role backend --command 'A=1 true' --name s5 --quiet
    s5
    $ fairway session stop s6
    error: there is no session 's6'
    hint: list the sessions: fairway session list --all
    [exit 3]
    ");
}
