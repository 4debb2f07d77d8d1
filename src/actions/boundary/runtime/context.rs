//! What an agent needs to know: composed from the store, or pushed to it by somebody who leads it.

use std::fmt::Write;

use anyhow::Result;
use serde_json::json;

use super::session_of_run;
pub use crate::actions::boundary::context_sections::{Mode, Section, SectionKind};
use crate::{
    actions::{
        Answer, App,
        boundary::agent_context,
        sessions::prompt::{self, NewPrompt},
    },
    domain::{Refusal, id::Label, message::Priority, session::Session},
    wire::{ContextView, SectionView},
};

/// Where pushed context says it comes from.
pub const SOURCE: &str = "prime";

/// What a session needs to know, or without one whoever acts: who it is, what it holds, what waits for it, where it stood,
/// and how to go on. Other people's and programs' text in it is marked. Asks git where a gate does; changes nothing.
///
/// # Errors
/// As the store fails.
pub fn compose(app: &App, session: Option<&Session>, mode: Mode) -> Result<Vec<Section>> {
    let whose = agent_context::Subject::for_session(app, session);
    Ok(agent_context::compose(app, &whose, mode)?.sections)
}

/// Sections as one text.
#[must_use]
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

/// Sections as a document.
#[must_use]
pub fn view(sections: &[Section], mode: Mode) -> ContextView {
    let one = |section: &Section| SectionView { r#type: section.kind.as_str(), content: section.content.clone() };
    ContextView { mode: mode.as_str(), sections: sections.iter().map(one).collect(), text: format_text(sections) }
}

/// Pushes sections to the runtime of a run, as one system prompt. To have it delivered at once, call
/// [`prompt::deliver`](crate::actions::sessions::prompt::deliver_by_typing) afterwards.
///
/// # Errors
/// `not_found`, `session_final`, `invalid_value`.
pub fn push(app: &App, run_id: &str, sections: &[Section], mode: Mode) -> Result<Answer> {
    if sections.iter().all(|section| section.content.trim().is_empty()) {
        return Err(Refusal::invalid("sections", "must hold some text").into());
    }
    let session = app.read(|tx| session_of_run(tx, run_id))?;
    let types: Vec<&str> = sections.iter().map(|section| section.kind.as_str()).collect();
    let told = NewPrompt {
        to: session.id,
        content: format_text(sections),
        priority: Priority::System,
        source: Label::parse(SOURCE)?,
        metadata: Some(json!({ "mode": mode.as_str(), "types": types })),
        dedup: None,
        ttl: None,
    };
    prompt::send(app, &told)
}
