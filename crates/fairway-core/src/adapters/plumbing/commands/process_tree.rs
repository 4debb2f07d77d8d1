//! Ending a session's processes, and copying its output to a transcript.

use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::session_dir;
use crate::adapters::plumbing::TranscriptWriter;
use crate::env::Env;

/// How long the last write to the transcript may take.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(10);

/// Ends all processes of a session and removes its directory. A session that does not exist is no error.
pub fn kill_tree(env: &Env, name: &str) -> Result<()> {
    Ok(session_dir(env, name)?.kill_tree()?)
}

/// Like [`kill_tree`], for a script that undoes its own failed start. A session that another call has started stays.
pub fn roll_back(env: &Env, name: &str) -> Result<()> {
    Ok(session_dir(env, name)?.roll_back()?)
}

/// Appends a stream to a transcript until the stream ends. Bytes that cannot be written are dropped, so that a slow disk never
/// blocks the process that writes to the stream. Whenever the transcript reaches `limit` bytes, it is renamed with the suffix
/// `.1`, and a new one is begun.
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
