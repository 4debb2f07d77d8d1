//! Token usage from the providers' transcripts. The formats belong to the providers and change with them: lines that cannot be
//! parsed are skipped, and missing numbers are not guessed.
//!
//! A turn is one response of the model. It has the provider's key, so that reading a part twice gives the same turns.

use std::io;
use std::path::Path;

use crate::hooks::Provider;
use fairway_core::domain::usage::TranscriptSlice;

pub(super) mod lines;

/// Reads a transcript from a byte offset on. Only complete lines are read; a line that is still being written is left for the
/// next call. A file shorter than the offset was replaced and is read from its beginning.
///
/// # Errors
/// When the file cannot be read or is not a regular file; `Unsupported` for an unknown provider.
pub fn read_since(provider: &str, path: &Path, offset: u64) -> io::Result<TranscriptSlice> {
    let Some(known) = Provider::parse(provider) else {
        let why = format!("unknown provider {provider:?}: its transcripts cannot be read");
        return Err(io::Error::new(io::ErrorKind::Unsupported, why));
    };
    let (mut read, mut model) = (TranscriptSlice::default(), None);
    let (from, to) = lines::read_since(path, offset, &mut |line| (known.parse_line)(&mut read, &mut model, line))?;
    read.offset = to;
    match known.fill_missing_models {
        Some(fill) => fill(&mut read, path, from).map(|()| read),
        None => Ok(read),
    }
}

#[cfg(test)]
mod tests {
    use fairway_core::domain::usage::Usage;
    use std::fs;

    use super::*;

    /// A transcript of the provider's real program, with long texts cut.
    fn sample(name: &str) -> Vec<u8> {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/agents");
        fs::read(dir.join(name)).unwrap()
    }

    fn read(provider: &str, record: &[u8]) -> TranscriptSlice {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("record");
        fs::write(&path, record).unwrap();
        read_since(provider, &path, 0).unwrap()
    }

    fn used(read: &TranscriptSlice) -> Vec<(&str, &Usage)> {
        read.turns.iter().map(|turn| (turn.key.as_deref().unwrap(), turn.usage.as_ref().unwrap())).collect()
    }

    fn usage(model: &str, input: u64, cached: u64, written: u64, output: u64) -> Usage {
        Usage {
            model: Some(model.to_owned()),
            input_tokens: input,
            output_tokens: output,
            cache_read_tokens: cached,
            cache_creation_tokens: written,
            cost_usd: None,
        }
    }

    #[test]
    fn recorded_transcripts_are_read() {
        let claude = read("claude", &sample("claude-code-2.1.329-record.jsonl"));
        let expected = usage("claude-opus-5-5", 100, 0, 0, 20);
        assert_eq!(used(&claude), [("msg_1", &expected), ("msg_2", &expected)]);
        assert_eq!((claude.context_tokens, claude.context_window), (Some(120), None));

        assert_eq!(claude.is_busy, Some(false));

        let codex = read("codex", &sample("codex-0.169.0-record.jsonl"));
        let expected = usage("mock-model", 100, 0, 0, 20);
        assert_eq!(used(&codex), [("resp_1", &expected), ("resp_2", &expected)]);
        assert_eq!((codex.context_tokens, codex.context_window), (Some(120), Some(258_400)));
        assert_eq!(codex.is_busy, Some(false));

        let gemini = read("gemini", &sample("gemini-cli-0.61.0-record.jsonl"));
        let expected = usage("gemini-3.8-flash", 100, 0, 0, 20);
        // The first response is there twice: with its tool call, and again with the result.
        let keys = ["e0563217-90df-41b7-8250-b069cc973b87", "5b97b036-d8f5-48db-ba36-3a8257516219"];
        assert_eq!(used(&gemini), keys.map(|key| (key, &expected)));
        assert_eq!(gemini.context_tokens, Some(120));
        assert_eq!(gemini.is_busy, Some(false));
    }

    #[test]
    fn kinds_of_tokens_do_not_overlap() {
        let claude = br#"{"type":"assistant","timestamp":"2026-01-01T00:00:00Z","message":{"id":"a","model":"m","usage":{"input_tokens":1,"cache_read_input_tokens":20,"cache_creation_input_tokens":300,"output_tokens":4000}}}
"#;
        assert_eq!(used(&read("claude", claude)), [("a", &usage("m", 1, 20, 300, 4000))]);
        assert_eq!(read("claude", claude).context_tokens, Some(4321));
        let codex = br#"{"type":"turn_context","payload":{"model":"m"}}
{"type":"token_usage_record","timestamp":"2026-01-01T00:00:00Z","payload":{"response_id":"a","usage":{"input_tokens":321,"cached_input_tokens":20,"cache_write_input_tokens":300,"output_tokens":4000,"reasoning_output_tokens":9}}}
"#;
        assert_eq!(used(&read("codex", codex)), [("a", &usage("m", 1, 20, 300, 4000))]);
        assert_eq!(read("codex", codex).context_tokens, Some(4321));
        let gemini = br#"{"type":"gemini","id":"a","model":"m","timestamp":"2026-01-01T00:00:00Z","tokens":{"input":20,"cached":19,"tool":1,"output":3000,"thoughts":1000}}
"#;
        assert_eq!(used(&read("gemini", gemini)), [("a", &usage("m", 2, 19, 0, 4000))]);
        assert_eq!(read("gemini", gemini).context_tokens, Some(4021));
    }

    #[test]
    fn model_that_was_named_before_the_part_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("record");
        let text = sample("codex-0.169.0-record.jsonl");
        fs::write(&path, &text).unwrap();
        let middle = String::from_utf8(text).unwrap().find("\"resp_1\"").unwrap() as u64;
        let read = read_since("codex", &path, middle).unwrap();
        assert_eq!(used(&read), [("resp_2", &usage("mock-model", 100, 0, 0, 20))]);
    }

    #[test]
    fn between_a_prompt_and_the_last_answer_the_agent_is_busy() {
        for (provider, name, last) in [
            ("claude", "claude-code-2.1.329-record.jsonl", "all done"),
            ("codex", "codex-0.169.0-record.jsonl", "task_complete"),
            ("gemini", "gemini-cli-0.61.0-record.jsonl", "all done"),
        ] {
            let text = String::from_utf8(sample(name)).unwrap();
            let mut states = Vec::new();
            for (at, _) in text.match_indices('\n') {
                if let Some(busy) = read(provider, &text.as_bytes()[..=at]).is_busy {
                    states.push((busy, text[..at].contains(last)));
                }
            }
            assert!(states.len() > 2 && states[0].0, "{provider}: {states:?}");
            assert!(states.iter().all(|(busy, is_over)| *busy != *is_over), "{provider}: {states:?}");
        }
    }

    #[test]
    fn codex_record_says_whether_the_shell_finds_the_program() {
        let line = |command: &str, output: &str| {
            let item = serde_json::json!({ "type": "CommandExecution", "command": ["/bin/bash", "-lc", command],
                "aggregated_output": output });
            let payload = serde_json::json!({ "type": "item_completed", "item": item });
            format!(
                "{}\n",
                serde_json::json!({ "timestamp": "2026-01-01T00:00:00Z", "type": "event_msg", "payload": payload })
            )
        };
        let missing = line("fairway prime", "/bin/bash: line 1: fairway: command not found\n");
        let other = line("ls", "a\n");
        let found = line("/opt/fairway prime", "## role\n");
        let says = |record: String| read("codex", record.as_bytes()).finds_program;
        assert_eq!(says(missing.clone() + &other), Some(false));
        assert_eq!(says(missing + &found), Some(true));
        assert_eq!(says(other), None);
    }

    #[test]
    fn unreadable_transcript_line_is_skipped() {
        for provider in Provider::ALL.iter().map(|provider| provider.label()) {
            let garbage = b"\n{\n\xff\xfe \"usage\" \"tokens\"\n[]\nnull\n{\"usage\":1}\n\
                {\"type\":\"assistant\",\"timestamp\":\"x\",\"message\":{\"usage\":[]}}\n\
                {\"type\":\"assistant\",\"timestamp\":\"2026-01-01T00:00:00Z\",\"message\":{\"usage\":7}}\n\
                {\"type\":\"token_usage_record\",\"timestamp\":\"2026-01-01T00:00:00Z\",\"payload\":{\"usage\":[]}}\n\
                {\"type\":\"gemini\",\"timestamp\":\"2026-01-01T00:00:00Z\",\"tokens\":-1}\n";
            let read = read(provider, garbage);
            assert_eq!(
                (read.turns, read.offset, read.context_window),
                (vec![], garbage.len() as u64, None),
                "{provider}"
            );
        }
        assert_eq!(read_since("mystery", Path::new("/dev/null"), 0).unwrap_err().kind(), io::ErrorKind::Unsupported);
    }
}
