//! `session peek` of real programs in a terminal, after their end.

use super::{Sessions, eventually, text};
use crate::common::require;

fn peek(world: &Sessions, args: &[&str]) -> String {
    world.run(["session", "peek"].iter().chain(args)).exits(0).stdout
}

#[test]
fn screen_of_a_killed_full_screen_program_is_text() {
    if !require::program("less") {
        return;
    }
    let world = Sessions::new();
    let file = world.dir().join("lines");
    let lines: String = (1..=500).map(|number| format!("this is line {number}\n")).collect();
    std::fs::write(&file, lines).unwrap();
    let file = file.display().to_string();
    let program = ["--env", "TERM=screen-256color", "--env", "LESS=", "--", "less", &file];
    world.launch(&[&["--role", "r", "--backend", "tmux", "--name", "s1"][..], &program].concat());
    eventually("it shows its file", || peek(&world, &["s1"]).contains("this is line 40").then_some(()));
    let live = peek(&world, &["s1", "-n", "0"]);
    world.kill("s1");
    world.run(["session", "stop", "s1"]).exits(0);

    let view = world.json(["session", "peek", "s1", "-n", "0"]);
    assert_eq!((text(&view["source"]).as_str(), text(&view["text"])), ("transcript", live.clone()));
    assert!(live.starts_with("this is line 1\nthis is line 2\n") && live.contains("\nthis is line 49\n"), "{live}");
    let last = peek(&world, &["s1", "-n", "2"]);
    assert_eq!(last.lines().next(), Some("this is line 49"), "{last}");
    assert!(peek(&world, &["s1", "--raw"]).contains("\\u{1b}["));
}

#[test]
fn edited_command_line_of_a_shell_is_shown_as_it_was_seen() {
    if !require::program("bash") {
        return;
    }
    let world = Sessions::new();
    let shell = ["--env", "PS1=> ", "--env", "TERM=screen-256color", "--", "bash", "--norc", "--noprofile", "-i"];
    world.launch(&[&["--role", "r", "--backend", "tmux", "--name", "s1"][..], &shell].concat());
    eventually("it asks", || peek(&world, &["s1"]).contains('>').then_some(()));
    let row = world.session("s1");
    let keys = |keys: &[&str]| {
        let sent =
            world.command("tmux").args(["-S", &row["socket"], "send-keys", "-t", &row["pane"]]).args(keys).status();
        assert!(sent.unwrap().success());
    };
    // A word is put in front, and the mistake in it mended.
    keys(&["-l", "one two"]);
    keys(&["C-a"]);
    keys(&["-l", "ecko "]);
    keys(&["Left", "Left", "BSpace"]);
    keys(&["-l", "h"]);
    keys(&["Enter"]);
    eventually("it has run", || peek(&world, &["s1"]).contains("\none two\n").then_some(()));
    let live = peek(&world, &["s1"]);
    world.run(["session", "stop", "s1"]).exits(0);
    let shown = peek(&world, &["s1"]);
    assert!(shown.contains("> echo one two\none two\n"), "{shown}");
    assert!(shown.starts_with(live.trim_end()), "{shown} is not {live}");
}

#[test]
fn colors_of_a_program_without_a_terminal_are_left_out() {
    let world = Sessions::new();
    let print = r"printf '\033[32mgreen\033[0m\n10 %%\r20 %%\nlast\n'; exec sleep 300";
    world.launch(&["--role", "r", "--name", "s1", "--", "sh", "-c", print]);
    eventually("it has printed", || (peek(&world, &["s1"]) == "green\n20 %\nlast\n").then_some(()));
    assert!(peek(&world, &["s1", "--raw"]).contains("\\u{1b}[32mgreen"));
    world.run(["session", "stop", "s1"]).exits(0);
    assert_eq!(peek(&world, &["s1"]), "green\n20 %\nlast\n");
    assert_eq!(peek(&world, &["s1", "-n", "1"]), "last\n");
}
