//! Evidence: add, produce by running a check, list and show.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use anyhow::Result;
use sha2::{Digest, Sha256};

use super::task_worktree;
use crate::core::lookup;
use crate::{Answer, App};
use fairway_core::domain::evidence::{DEFAULT_KIND, Evidence, EvidenceResult, PROVIDER_KIND};
use fairway_core::domain::id::Label;
use fairway_core::domain::rules::fencing::TaskWrite;
use fairway_core::domain::session::Session;
use fairway_core::domain::task::Task;
use fairway_core::domain::{Event, EventKind, Refusal, TaskId, ansi, secrets, text_limits};
use fairway_core::env::Timestamp;
use fairway_core::os::digest::hex;
use fairway_core::store::{StoreError, WriteTx, evidence};
use fairway_core::wire::{EvidenceDetailView, EvidenceOutputView};

pub mod run;

/// Records evidence with its event. `of` is the session that the evidence is from, when that is not the acting session.
pub(crate) fn insert(
    tx: &WriteTx<'_>,
    task: &Task,
    record: Evidence,
    of: Option<&Session>,
) -> Result<Evidence, StoreError> {
    let record = evidence::insert(tx, record)?;
    let event = recorded_event(task, &record);
    tx.record(&match of {
        Some(session) => event.session(&session.id, &session.run_id),
        None => event,
    })?;
    Ok(record)
}

fn recorded_event(task: &Task, record: &Evidence) -> Event {
    Event::new(EventKind::EvidenceRecorded)
        .task(&task.id)
        .lane(task.fields.lane.as_ref())
        .with("id", record.id)
        .with("kind", record.kind.as_str())
        .with("result", record.result.as_str())
        .with("observed", record.observed)
        .with("check", record.check.as_deref())
        .with("exit_code", record.exit_code)
        .with("commit", record.commit.as_deref())
}

#[derive(Debug, Clone)]
pub struct NewEvidence {
    pub result: EvidenceResult,
    pub kind: Option<Label>,
    /// The command that produced the evidence.
    pub command: Option<String>,
    pub artifact: Option<String>,
    pub summary: Option<String>,
    pub commit: Option<String>,
}

pub fn add(app: &App, id: &TaskId, new: &NewEvidence) -> Result<Answer> {
    let line =
        |what, given: &Option<String>| given.as_deref().map(|given| text_limits::check_line(what, given)).transpose();
    let (artifact, summary) = (line("artifact", &new.artifact)?, line("summary", &new.summary)?);
    let command = new.command.as_deref().map(|command| text_limits::check_body("command", command)).transpose()?;
    let sha256 = artifact.as_deref().and_then(|path| digest(&app.env.cwd.join(path)));
    let commit = task_worktree::resolve_commit_for(app, id, new.commit.as_deref(), &["evidence", "add"])?;
    app.mutate(|tx| {
        let task = lookup::task(tx, id)?;
        lookup::check_authority(tx, &task, &app.actor, TaskWrite::AddRecord)?;
        let record = insert(
            tx,
            &task,
            Evidence {
                id: 0,
                task: id.clone(),
                session: app.actor.session.clone(),
                kind: new.kind.as_ref().map_or(DEFAULT_KIND, Label::as_str).to_owned(),
                result: new.result,
                command: command.clone(),
                check: None,
                exit_code: None,
                duration_ms: None,
                artifact: artifact.clone(),
                sha256: sha256.clone(),
                commit: commit.clone(),
                summary: summary.clone(),
                observed: false,
                created_at: Timestamp::from_millis(0),
            },
            None,
        )?;
        let line = format!("recorded evidence {} on {id}: {} {}, as claimed", record.id, record.kind, record.result);
        let answer = Answer::new(&record, record.id, line)?;
        let answer = match &record.artifact {
            Some(path) if record.sha256.is_none() => {
                answer.note(format!("{path} is not a readable file; its digest is not recorded"))
            }
            _ => answer,
        };
        Ok(if record.kind == PROVIDER_KIND {
            answer.note("evidence of the kind 'provider' counts for no gate")
        } else {
            answer
        })
    })
}

/// The SHA-256 of a regular file. Returns `None` when it cannot be read, and for other kinds of file, whose reading might
/// block.
pub(crate) fn digest(path: &Path) -> Option<String> {
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let (mut file, mut sha, mut piece) = (File::open(path).ok()?, Sha256::new(), vec![0; 64 << 10]);
    loop {
        match file.read(&mut piece).ok()? {
            0 => break,
            length => sha.update(piece.get(..length)?),
        }
    }
    Some(hex(&sha.finalize()))
}

/// A task's evidence, oldest first.
pub fn list(app: &App, task: &TaskId) -> Result<Vec<Evidence>> {
    app.read(|tx| {
        lookup::task(tx, task)?;
        Ok(evidence::of_task(tx, task)?)
    })
}

/// How much of a stored output is read, in bytes. Stored outputs are smaller.
const MAX_OUTPUT_BYTES: u64 = 4 << 20;

/// One piece of evidence, with the last `lines` lines of the output that Fairway itself stored; 0 means all. An output that
/// cannot be read is left out, and the reason is given.
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
    let file = File::open(path).map_err(|error| failed(&error))?;
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
