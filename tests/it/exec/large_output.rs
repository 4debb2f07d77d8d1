//! Output through the real thing: more than is kept, and text that comes in pieces.

use std::fs;

use super::job_project::JobProject;
use crate::common::{TestProject, soak};

/// How much the files of a run's output hold.
fn kept(place: &JobProject<'_>, run: &str) -> u64 {
    let folder = place.dir.join(".fairway/runs").join(run);
    let files = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let is_segment = |name: &str| name.starts_with("out.") || name.starts_with("err.");
    files
        .filter(|file| is_segment(&file.file_name().to_string_lossy()))
        .map(|file| file.metadata().unwrap().len())
        .sum()
}

#[test]
fn output_above_the_limit_keeps_head_and_tail() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    // Numbers of_world nine digits and a line's end, ten bytes each: 10 MiB, in a soak run 3 GB.
    let (first, count, limit): (i64, i64, usize) =
        if soak::is_on() { (100_000_000, 300_000_000, 1 << 20) } else { (100_000_000, 1 << 20, 1 << 16) };
    let last = first + count - 1;
    let text = format!("seq {first} {last}; echo $? >ended");
    let run = place.spawn(["--max-output", &limit.to_string(), "--shell", &text]);
    let waited = place.run(["exec", "wait", &run]);
    assert_eq!(waited.code, Some(0), "{waited:?}");
    assert_eq!(fs::read_to_string(place.dir.join("ended")).unwrap(), "0\n");

    let polled = place.json(["exec", "poll", &run]);
    assert_eq!((&polled["output_bytes"], &polled["truncated"]), (&(count * 10).into(), &true.into()), "{polled:#}");
    assert!(kept(&place, &run) <= limit as u64, "{} bytes are kept", kept(&place, &run));
    let text = place.log(&run, "stdout");
    assert!(text.len() > limit * 10 / 21, "only {} bytes are shown", text.len());
    assert!(text.starts_with("100000000\n100000001\n"), "{:?}", &text[..40]);
    assert!(text.ends_with(&format!("{}\n{last}\n", last - 1)), "{:?}", &text[text.len() - 40..]);
    // Head and tail are each without a hole: one place where the next number is not the one after.
    let whole: Vec<i64> = text.lines().filter(|line| line.len() == 9).map(|line| line.parse().unwrap()).collect();
    let holes = whole.windows(2).filter(|pair| pair[1] != pair[0] + 1).count();
    // The rest of a line before the gap and of one after it may look like a number.
    assert!((1..=2).contains(&holes), "{holes} holes in what was kept");
    let events = place.json(["exec", "log", &run, "--stream", "event"]);
    let gaps: Vec<i64> = events["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|item| item["meta"]["event"] == "gap")
        .map(|item| item["meta"]["bytes"].as_i64().unwrap())
        .collect();
    let shown = i64::try_from(text.len()).unwrap();
    assert_eq!(gaps.iter().sum::<i64>() + shown, count * 10, "{gaps:?} and {shown} shown");
    place.wait_no_processes("after the output");
}

/// The end of a long output, read from its end: whole lines, an unfinished one among them, and no secret whose beginning is cut off.
#[test]
fn last_lines_are_shown_without_the_rest() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let token = format!("ghp_{}", "a1".repeat(18));
    let text = format!("seq 80000; for n in 1 2 3; do echo warn $n {token} >&2; done; printf 'then? '");
    let run = place.spawn(["--shell", &text]);
    place.run(["exec", "wait", &run]);
    let log = |words: &[&str]| place.run([&["exec", "log", &run], words].concat());

    let numbers = |from: u32| (from..=80_000).map(|number| format!("{number}\n")).collect::<String>();
    for lines in [1, 2, 500, 20_000] {
        let shown = log(&["--stream", "stdout", "--tail", &lines.to_string()]);
        assert_eq!(shown.stdout, format!("{}then? ", numbers(80_002 - lines)), "{lines} lines");
    }
    assert_eq!(log(&["--tail", "100000", "--stream", "stdout"]).stdout.len(), numbers(1).len() + "then? ".len());
    assert_eq!(log(&["--tail", "0"]).stdout, "");
    let both = log(&["-n", "4"]);
    assert_eq!((both.stdout.as_str(), both.stderr.lines().take(3).count()), ("then? ", 3), "{both:?}");
    assert!(both.stderr.starts_with("warn 1 •••\n") && !both.stderr.contains("a1a1"), "{both:?}");
    log(&["--tail", "3", "--since-seq", "4"]).exits(2);
    let items = place.json(["exec", "log", &run, "--tail", "2"])["items"].clone();
    assert!(
        items.as_array().unwrap().iter().any(|item| item["payload"].as_str().unwrap().ends_with("then? ")),
        "{items}"
    );
}

#[test]
fn split_characters_and_matches_are_joined() {
    const LINE: &str = "läuft: ✓ bereit 🚀\n";
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let octal = |bytes: &[u8]| bytes.iter().map(|byte| format!("\\{byte:03o}")).collect::<String>();
    let mut script = String::new();
    for at in 1..LINE.len() {
        let (before, after) = LINE.as_bytes().split_at(at);
        script.push_str(&format!("printf '{}'; sleep 0.04; printf '{}'; sleep 0.01\n", octal(before), octal(after)));
    }
    for stream in ["stdout", "stderr"] {
        let text = if stream == "stderr" { format!("exec 1>&2\n{script}") } else { script.clone() };
        let run = place.spawn(["--watch", "^läuft: ✓ bereit 🚀$=ready", "--shell", &text]);
        place.run(["exec", "wait", &run]).exits(0);
        let count = LINE.len() - 1;
        let page = place.json(["exec", "log", &run, "--stream", stream, "--limit", "500"]);
        let items = page["items"].as_array().unwrap();
        assert!(items.len() > count, "the pieces came together: {} items", items.len());
        let pieces: Vec<&str> = items.iter().map(|item| item["payload"].as_str().unwrap()).collect();
        assert!(pieces.iter().all(|piece| !piece.contains('\u{fffd}')), "{pieces:?}");
        assert_eq!(pieces.concat(), LINE.repeat(count));
        let id = uuid::Uuid::parse_str(&run).unwrap();
        let query = "SELECT hits FROM exec_watchers WHERE run = ?1";
        let hits: i64 = place.output().unwrap().query_row(query, [id.as_bytes().as_slice()], |row| row.get(0)).unwrap();
        assert_eq!(hits, i64::try_from(count).unwrap(), "each line matches once");
    }
}
