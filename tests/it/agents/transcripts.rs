//! The real command lines' own records are read: their numbers are the model's.

use std::fs;
use std::process::Stdio;

use fairway::hooks::transcripts;

use crate::common::TestProject;
use crate::common::agent_programs::Agent;
use crate::common::mock_models::{MockModels, USED};

fn the_record_adds_up(agent: Agent) {
    let Some(program) = agent.program() else { return };
    let (models, world) = (MockModels::start(), TestProject::uninitialized());
    let vars = agent.configure(&world, &models);
    let mut command = world.command(program);
    command
        .args(agent.headless_args("please RUN[[touch made]] and RUN[[touch made-too]]"))
        .envs(vars)
        .stdin(Stdio::null());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:#?}");
    assert!(world.root().join("made").exists() && world.root().join("made-too").exists(), "{output:#?}");

    assert_eq!(models.requests().last().unwrap().count("please RUN[[touch made]]"), 1, "{:?}", models.requests());

    let records = agent.transcripts(&world.dir().join("home"));
    let [record] = &records[..] else { panic!("{records:?}") };
    let read = transcripts::read_since(agent.name(), record, 0).unwrap();
    assert_eq!(read.offset, fs::metadata(record).unwrap().len());
    let (input, cached, output) = USED;
    assert!(models.answered() >= 2, "{:?}", models.requests());
    assert_eq!(read.turns.len() as u64, models.answered(), "{read:#?}");
    for turn in &read.turns {
        let usage = turn.usage.as_ref().unwrap();
        assert!(usage.model.is_some() && turn.key.is_some(), "{turn:?}");
        let used = (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens, usage.cache_creation_tokens);
        assert_eq!(used, (input - cached, cached, output, 0));
    }
    assert_eq!(read.context_tokens, Some(input + output));

    // In two parts it is the same, but that an answer may be told in both, by the same key.
    let text = fs::read_to_string(record).unwrap();
    for (at, _) in text.match_indices('\n') {
        let first = world.dir().join("first");
        fs::write(&first, &text[..at + 5.min(text.len() - at)]).unwrap();
        let before = transcripts::read_since(agent.name(), &first, 0).unwrap();
        let after = transcripts::read_since(agent.name(), record, before.offset).unwrap();
        let mut keys: Vec<_> = before.turns.iter().chain(&after.turns).map(|turn| (&turn.key, &turn.usage)).collect();
        keys.dedup();
        assert_eq!(keys, read.turns.iter().map(|turn| (&turn.key, &turn.usage)).collect::<Vec<_>>(), "cut at {at}");
    }
}

#[test]
fn claude_code_transcript_usage_adds_up() {
    the_record_adds_up(Agent::Claude);
}

#[test]
fn codex_transcript_usage_adds_up() {
    the_record_adds_up(Agent::Codex);
}

#[test]
fn gemini_cli_transcript_usage_adds_up() {
    the_record_adds_up(Agent::Gemini);
}
