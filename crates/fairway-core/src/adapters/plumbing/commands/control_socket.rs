//! Typing into a session that has a control socket.

use std::io::{self, Read};

use anyhow::Result;

use super::{input_turn, questions, read_limited, session_dir};
use crate::adapters::plumbing::submit_text::{self, Submission, Terminal, Timeouts};
use crate::adapters::plumbing::{self, KeyboardInput, SessionDir, sanitize_paste};
use crate::env::Env;

/// The longest text, in bytes.
const MAX_TEXT_BYTES: u64 = 4 << 20;

/// A session's terminal, whose screen is computed from its transcript.
struct RecordedTerminal<'a> {
    dir: &'a SessionDir,
}

impl Terminal for RecordedTerminal<'_> {
    fn snapshot(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.dir.screen_text(usize::from(self.dir.screen_rows()))?.into_bytes())
    }

    fn paste(&mut self, text: &[u8]) -> io::Result<()> {
        plumbing::have_typed(self.dir, &KeyboardInput::Paste(text.to_vec()))
    }

    fn press_enter(&mut self) -> io::Result<()> {
        plumbing::have_typed(self.dir, &KeyboardInput::Keys(vec!["Enter".to_owned()]))
    }
}

/// Pastes a text into a session, submits it, and returns once it was typed. When the screen shows a question, nothing is
/// submitted, and the text by which the question was recognized is returned. The caller lists the texts that mark questions in
/// the environment variable `FAIRWAY_QUESTIONS`. A session that does not exist is no error.
///
/// # Errors
/// When the text is too long, or the program does not accept it in time.
pub fn submit_text(env: &Env, name: &str, from: impl Read) -> Result<Option<String>> {
    let text = sanitize_paste::sanitize_paste(&read_limited("the text", from, MAX_TEXT_BYTES)?);
    let (dir, questions) = (session_dir(env, name)?, questions(env));
    if questions.is_empty() || !dir.path().is_dir() {
        return Ok(plumbing::have_typed(&dir, &KeyboardInput::Text(text)).map(|()| None)?);
    }
    let _turn = input_turn(&dir)?;
    match submit_text::submit_text(
        &mut RecordedTerminal { dir: &dir },
        &text,
        &questions,
        &Timeouts::for_questions(&questions),
    ) {
        Ok(Submission::Question(sign)) => Ok(Some(sign)),
        Ok(Submission::Submitted(_)) => Ok(None),
        // It has ended meanwhile.
        Err(_) if dir.has_exited()? => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Presses keys in a session, given by names such as `Enter` or `C-c`. A session that does not exist is no error.
pub fn press_keys(env: &Env, name: &str, keys: Vec<String>) -> Result<()> {
    Ok(plumbing::have_typed(&session_dir(env, name)?, &KeyboardInput::Keys(keys))?)
}
