//! Ending a session, and keeping what it prints.

use std::{
    io::{self, Read},
    path::Path,
    time::Duration,
};

use anyhow::Result;

use super::session_dir;
use crate::{adapters::plumbing::TranscriptWriter, env::Env};

/// How long the disk may take for the rest.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(10);

/// Ends a session's whole tree; one that is not there is no failure.
///
/// # Errors
/// When something would not die.
pub fn kill_tree(env: &Env, name: &str) -> Result<()> {
    Ok(session_dir(env, name)?.kill_tree()?)
}

/// The same for a script that takes its own start back: a session that another call has started is left alone.
///
/// # Errors
/// When something would not die.
pub fn roll_back(env: &Env, name: &str) -> Result<()> {
    Ok(session_dir(env, name)?.roll_back()?)
}

/// Copies a stream to a transcript until it ends. What cannot be written is left out: the writer is never held up, whatever
/// the disk does.
///
/// # Errors
/// When the transcript cannot be opened, or the stream not be read.
pub fn tee(path: &Path, limit: u64, mut from: impl Read) -> Result<()> {
    let recorder = TranscriptWriter::open(path, limit)?;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => recorder.write(buffer.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    recorder.flush(FLUSH_TIMEOUT);
    Ok(())
}
