//! Add claimed evidence: a result that Fairway has not observed.

use std::{fs::File, io::Read, path::Path};

use anyhow::Result;
use sha2::{Digest, Sha256};

use super::insert::insert;
use crate::{
    actions::{Answer, App, core::lookup, queue::task_worktree},
    domain::{
        TaskId,
        evidence::{DEFAULT_KIND, Evidence, EvidenceResult, PROVIDER_KIND},
        id::Label,
        rules::fencing::TaskWrite,
        text_limits,
    },
    env::Timestamp,
    os::digest::hex,
};

/// Evidence to add.
#[derive(Debug, Clone)]
pub struct NewEvidence {
    pub result: EvidenceResult,
    /// The kind of evidence.
    pub kind: Option<Label>,
    /// The command that produced it.
    pub command: Option<String>,
    /// The path of a related file.
    pub artifact: Option<String>,
    /// The summary, one line.
    pub summary: Option<String>,
    /// The commit it is about.
    pub commit: Option<String>,
}

/// Records a claim of evidence.
///
/// # Errors
/// `not_found`, `stale_claim`, `invalid_value`.
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

/// The SHA-256 of a file's bytes; `None` unless it is a regular file. Reading another kind of file might block.
pub(in crate::actions) fn digest(path: &Path) -> Option<String> {
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
