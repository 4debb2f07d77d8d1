//! The provider's transcript of the session: token usage and activity.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::options::SidecarOptions;
use crate::App;
use crate::core::session_events;
use crate::sessions::report::{context_threshold, own_program, telemetry};
use fairway_core::domain::Refusal;
use fairway_core::domain::session::{Activity, Session};
use fairway_core::domain::usage::TranscriptSlice;
use fairway_core::os::file_watch::FileWatch;
use fairway_core::store::{WriteTx, session_reports};

/// The source of activities that a sidecar reports.
const SOURCE: &str = "sidecar";

/// A transcript and its provider.
#[derive(Debug)]
pub(super) struct TranscriptTail {
    path: PathBuf,
    /// The path as it is stored.
    stored_path: String,
    provider: String,
}

impl TranscriptTail {
    /// The requested transcript, or the one that is recorded for the session. `None` when there is none, and when none is
    /// requested and the session's provider is not supported.
    ///
    /// # Errors
    /// `usage` for a requested transcript without a supported provider.
    pub(super) fn find(app: &App, options: &SidecarOptions, session: &Session) -> Result<Option<Self>> {
        let provider = options
            .provider
            .as_ref()
            .map(ToString::to_string)
            .or_else(|| session.provider.as_ref().map(ToString::to_string));
        let provider = provider.filter(|provider| options.providers.contains(&provider.as_str()));
        let requested = options.transcript.is_some() || options.provider.is_some();
        let Some(provider) = provider else {
            let why = format!("--provider is missing: must be one of {}", options.providers.join(", "));
            return if requested { Err(Refusal::Usage { why }.into()) } else { Ok(None) };
        };
        let reported = app.read(|tx| Ok(session_reports::find(tx, &session.id)?))?.usage_path;
        // A transcript in the state directory is the terminal's, written by Fairway itself.
        let own = |path: &String| Path::new(path).starts_with(&app.project.state);
        let recorded = session.transcript.clone().filter(|path| !own(path));
        let path = options.transcript.clone().or_else(|| reported.or(recorded).map(PathBuf::from));
        let Some(path) = path else { return Ok(None) };
        let path = app.env.cwd.join(path);
        let Some(name) = path.to_str().map(str::to_owned) else {
            return Err(Refusal::invalid("transcript", "must be UTF-8").into());
        };
        Ok(Some(Self { path, stored_path: name, provider }))
    }

    /// Makes `watch` report when the transcript grows, is replaced or is created.
    pub(super) fn watch(&self, watch: &mut FileWatch) {
        if let Some(dir) = self.path.ancestors().skip(1).find(|dir| dir.is_dir()) {
            watch.watch_dir(dir);
        }
        if self.path.is_file() {
            watch.watch_file(&self.path);
        }
    }

    /// Reads the part of the transcript that is new, and stores its turns, activity and context usage. Returns the number of
    /// new turns.
    pub(super) fn read_new(&self, app: &App, options: &SidecarOptions, session: &Session) -> Result<usize> {
        if !self.path.exists() {
            return Ok(0);
        }
        let known = app.read(|tx| Ok(session_reports::find(tx, &session.id)?))?;
        let is_known = known.usage_path.as_deref() == Some(self.stored_path.as_str());
        let offset = if is_known { u64::try_from(known.usage_offset).unwrap_or(0) } else { 0 };
        let reading = (options.read_transcript)(&self.provider, &self.path, offset)
            .with_context(|| format!("cannot read transcript {}", self.stored_path))?;
        if is_known && reading.offset == offset {
            return Ok(0);
        }
        app.transaction(|tx| self.store(tx, session, &reading))
    }

    fn store(&self, tx: &WriteTx<'_>, session: &Session, reading: &TranscriptSlice) -> Result<usize> {
        let counts = telemetry::store_turns(tx, session, &reading.turns)?;
        own_program::record(tx, &session.id, reading.finds_program)?;
        let reports = session_reports::find(tx, &session.id)?;
        let offset = i64::try_from(reading.offset).unwrap_or(i64::MAX);
        session_reports::set_usage_offset(tx, &session.id, &self.stored_path, offset)?;
        // An agent that reports its activity by hooks or the API needs no inference.
        let tells_itself = reports.last_hook_at.is_some() || reports.lifecycle_at.is_some();
        if let Some(is_busy) = reading.is_busy.filter(|_| !tells_itself) {
            let activity = if is_busy { Activity::Busy } else { Activity::Idle };
            session_events::reported(tx, session, activity, None, SOURCE)?;
        }
        if let Some(share) = reading.context_share() {
            context_threshold::report_context_usage(tx, session, share)?;
        }
        Ok(counts.turns)
    }
}
