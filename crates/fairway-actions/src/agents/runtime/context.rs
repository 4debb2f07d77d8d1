//! The context of an agent: composed from the store, or pushed by an orchestrator.

use std::fmt::Write;

use anyhow::Result;
use serde_json::json;

use super::session_of_run;
use crate::agents::agent_context;
pub use crate::agents::context_sections::{Mode, Section, SectionKind};
use crate::sessions::prompt::{self, NewPrompt};
use crate::{Answer, App};
use fairway_core::domain::id::Label;
use fairway_core::domain::message::{GOES_NOW, Priority};
use fairway_core::domain::session::Session;
use fairway_core::domain::{Refusal, RunId};
use fairway_core::wire::{ContextView, MessageView, SectionView};

/// The source of pushed context.
pub const SOURCE: &str = "prime";

/// Composes the context of a session, or without one of the acting user: identity, claimed tasks, waiting messages,
/// checkpoints and next steps. Text of people and programs is quoted. Runs git where a gate needs it; writes nothing.
pub fn compose(app: &App, session: Option<&Session>, mode: Mode) -> Result<Vec<Section>> {
    let subject = agent_context::Subject::for_session(app, session);
    Ok(agent_context::compose(app, &subject, mode)?.sections)
}

pub fn format_text(sections: &[Section]) -> String {
    let mut text = String::new();
    for section in sections {
        if !text.is_empty() {
            text.push('\n');
        }
        let _ = writeln!(text, "## {}\n{}", section.kind, section.content.trim_end());
    }
    text
}

pub fn view(sections: &[Section], mode: Mode) -> ContextView {
    let view = |section: &Section| SectionView { r#type: section.kind.as_str(), content: section.content.clone() };
    ContextView { mode: mode.as_str(), sections: sections.iter().map(view).collect(), text: format_text(sections) }
}

/// The sections of pushed context; `None` when the message has none. They are split by the lengths that the message records, so
/// that a heading in a section's text does not begin a new section.
pub fn pushed_sections(message: &MessageView) -> Option<Vec<SectionView>> {
    let types = message.metadata.get("types")?.as_array()?;
    let bytes = message.metadata.get("bytes")?.as_array()?;
    let mut rest = message.content.as_str();
    let mut sections = Vec::new();
    for (kind, bytes) in types.iter().zip(bytes) {
        let kind = SectionKind::parse(kind.as_str()?)?;
        let heading = format!("## {kind}\n");
        rest = rest.strip_prefix('\n').filter(|_| !sections.is_empty()).unwrap_or(rest).strip_prefix(&heading)?;
        let (content, left) = rest.split_at_checked(usize::try_from(bytes.as_u64()?).ok()?)?;
        sections.push(SectionView { r#type: kind.as_str(), content: content.to_owned() });
        rest = left.strip_prefix('\n')?;
    }
    Some(sections)
}

/// Pushes sections to the session with this `run_id`, as one system prompt. To have it delivered at once, call
/// [`prompt::deliver_by_typing`](crate::sessions::prompt::deliver_by_typing) afterwards.
///
/// # Errors
/// `not_found`, `session_final`, `invalid_value`.
pub fn push(app: &App, run_id: &RunId, sections: &[Section], mode: Mode) -> Result<Answer> {
    if sections.iter().all(|section| section.content.trim().is_empty()) {
        return Err(Refusal::invalid("sections", "must contain text").into());
    }
    let session = app.read(|tx| session_of_run(tx, run_id))?;
    let types: Vec<&str> = sections.iter().map(|section| section.kind.as_str()).collect();
    let bytes: Vec<usize> = sections.iter().map(|section| section.content.trim_end().len()).collect();
    let prompt = NewPrompt {
        to: session.id,
        content: format_text(sections),
        priority: Priority::System,
        source: Label::parse(SOURCE)?,
        // Context is no work: it does not wait until the runtime has reported its state.
        metadata: Some(json!({ "mode": mode.as_str(), "types": types, "bytes": bytes, GOES_NOW: true })),
        dedup: None,
        ttl: None,
    };
    prompt::send(app, &prompt)
}
