//! Show one record of evidence with its stored output.

use std::{fs, io::Read, path::Path};

use anyhow::Result;
use sha2::{Digest, Sha256};

use crate::{
    actions::App,
    domain::{Refusal, ansi, evidence::Evidence, secrets},
    store::evidence,
    wire::{EvidenceDetailView, EvidenceOutputView},
};

/// The maximum size of an output that is read; a stored one is smaller.
const MAX_OUTPUT_BYTES: u64 = 4 << 20;

/// A record, and of observed evidence the last `lines` lines of its stored output; 0 means all lines.
///
/// # Errors
/// `not_found`; as the store fails. An output that cannot be read is left out, with the reason.
pub fn show(app: &App, id: i64, lines: usize) -> Result<EvidenceDetailView> {
    let found = app.read(|tx| Ok(evidence::find(tx, id)?))?;
    let record = found.ok_or_else(|| Refusal::not_found("evidence", id.to_string()))?;
    // Only the files that `evidence run` writes: the artifact of claimed evidence may be any path.
    let own = app.project.state.join("evidence");
    let artifact = record.artifact.as_deref().filter(|_| record.observed).map(Path::new);
    let (output, output_error) = match artifact.filter(|path| path.parent() == Some(&own)) {
        Some(path) => match read_output(path, &record, lines) {
            Ok(output) => (Some(output), None),
            Err(why) => (None, Some(why)),
        },
        None => (None, None),
    };
    let check = record.check.clone();
    Ok(EvidenceDetailView { record, check, output, output_error })
}

fn read_output(path: &Path, record: &Evidence, lines: usize) -> Result<EvidenceOutputView, String> {
    let failed = |why: &dyn std::fmt::Display| format!("the output cannot be read: {why}");
    let found = fs::symlink_metadata(path).map_err(|error| failed(&error))?;
    if !found.is_file() {
        return Err(failed(&format!("{} is not a file", path.display())));
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(|error| failed(&error))?;
    file.take(MAX_OUTPUT_BYTES).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    let text = secrets::mask(&ansi::visible_text(&String::from_utf8_lossy(&bytes)));
    let all: Vec<&str> = text.trim_end_matches('\n').lines().collect();
    let left_out = if lines == 0 { 0 } else { all.len().saturating_sub(lines) };
    Ok(EvidenceOutputView {
        text: all.iter().skip(left_out).map(|line| format!("{line}\n")).collect(),
        lines_left_out: left_out,
        bytes: found.len(),
        is_unchanged: record.sha256.as_ref().map(|stored| *stored == digest),
    })
}
