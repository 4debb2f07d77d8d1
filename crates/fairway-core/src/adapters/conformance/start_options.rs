//! Probes of the further fields of a start configuration. A script with the capability `ready` must support all of them; another
//! script may leave them out.

use std::fs;
use std::path::Path;

use super::call_result::{Deviation, ProbeResult};
use super::harness::Harness;
use super::probe_session::ProbeSession;
use crate::adapters::{Capabilities, CopyFile};
use crate::os::exit_reason::ExitReason;
use crate::os::files;

pub(super) fn run(bench: &Harness) {
    if !bench.should_probe(&["start"]) {
        return;
    }
    bench.probe("start", "a failing pre_start or session_setup is a warning, no failure", || setup_failures(bench));
    bench.probe("start", "pre_start, files and overlays come first, session_setup once it is ready", || {
        setup_order(bench)
    });
    bench.probe("start", "a program that dies at once is a failure, with its last words", || exits_immediately(bench));
    bench.probe("start", "the nudge is typed once, when the program takes input", || first_nudge(bench));
}

fn has_capability(bench: &Harness, capability: &str) -> bool {
    let said = bench.call(&["protocol"], b"").ok().filter(|said| said.end == ExitReason::Code(0));
    said.and_then(|said| Capabilities::read(&said.stdout).ok()).is_some_and(|can| can.has(capability))
}

fn setup_failures(bench: &Harness) -> ProbeResult {
    let mut one = ProbeSession::of_probe(bench, "warn")?;
    one.config.pre_start = Some(vec!["exit 3".to_owned()]);
    one.config.session_setup = Some(vec!["exit 2".to_owned()]);
    one.config.session_live = Some(vec!["false".to_owned()]);
    one.start()?;
    one.expect_running(true)?;
    one.stop()
}

fn setup_order(bench: &Harness) -> ProbeResult {
    if !has_capability(bench, "ready") {
        return Err(Deviation::Unsupported);
    }
    let mut one = ProbeSession::of_probe(bench, "fields")?;
    let made = |place: &Path, text: &str| {
        files::private_dir(place.parent().unwrap_or(place))
            .and_then(|()| fs::write(place, text))
            .map_err(|error| Deviation::differs("a file to copy", error.to_string()))
    };
    let (over, pack, single) = (bench.dir().join("over"), bench.dir().join("pack"), bench.dir().join("single"));
    made(&over.join("both"), "overlay")?;
    made(&pack.join("both"), "pack")?;
    made(&pack.join("deep/only"), "pack")?;
    made(&single, "single")?;
    let script = bench.dir().join("w/setup.sh");
    made(&script, "echo script >>\"$PROBE_AT/log\"\n")?;
    let at = one.output_dir().display().to_string();
    one.config.env.get_or_insert_default().insert("PROBE_AT".to_owned(), at);
    one.config.overlay_dir = Some(over.display().to_string());
    one.config.pack_overlay_dirs = Some(vec![pack.display().to_string()]);
    one.config.copy_files =
        Some(vec![CopyFile { src: single.display().to_string(), rel_dst: "below/single".to_owned() }]);
    let log = |word: &str| format!("echo {word}:$(test -e \"$PROBE_AT/pid\" && echo up) >>\"$PROBE_AT/log\"");
    one.config.pre_start = Some(vec![log("first"), log("second")]);
    one.config.session_setup = Some(vec![log("setup")]);
    one.config.session_setup_script = Some(script.display().to_string());
    one.config.session_live = Some(vec![log("live")]);
    one.config.process_names = Some(vec![super::harness::PROBE_PROGRAM.to_owned()]);
    one.config.ready_prompt_prefix = Some("probe> ".to_owned());
    let command = one.config.command.take().unwrap_or_default();
    one.config.command = Some(format!("{command} --prompt 'probe> '"));
    one.start()?;
    let read = |place: &Path| fs::read_to_string(place).unwrap_or_default().trim().to_owned();
    let expect = |what: &str, expected: &str, seen: String| {
        if seen == expected {
            Ok(())
        } else {
            Err(Deviation::differs(format!("{what}: {expected:?}"), format!("{seen:?}")))
        }
    };
    let work = one.work_dir();
    expect("overlay_dir over pack_overlay_dirs", "overlay", read(&work.join("both")))?;
    expect("pack_overlay_dirs", "pack", read(&work.join("deep/only")))?;
    expect("copy_files", "single", read(&work.join("below/single")))?;
    let log = read(&one.output_dir().join("log")).replace('\n', " ");
    expect("the order", "first: second: setup:up script live:up", log)?;
    one.stop()
}

fn exits_immediately(bench: &Harness) -> ProbeResult {
    if !has_capability(bench, "ready") {
        return Err(Deviation::Unsupported);
    }
    let one = ProbeSession::of_shell(bench, "exits-early", "echo last words; exit 3")?;
    let said = one.call_start()?;
    let told = String::from_utf8_lossy(&said.stderr).contains("last words");
    if said.end == ExitReason::Code(1) && told {
        one.mark_stopped();
    } else {
        return Err(Deviation::differs("exit code 1, the program's last words on stderr", said.describe()));
    }
    one.expect_running(false)
}

fn first_nudge(bench: &Harness) -> ProbeResult {
    if !has_capability(bench, "start-nudge") {
        return Err(Deviation::Unsupported);
    }
    let mut one = ProbeSession::with_args(bench, "greeted", &["--prompt", "probe> "], &[])?;
    one.config.nudge = Some("say \"hello\"; $HOME".to_owned());
    one.config.ready_prompt_prefix = Some("probe> ".to_owned());
    one.start()?;
    super::input::expect_input(bench, "nudge", &one, "say \"hello\"; $HOME\n")?;
    one.stop()
}
