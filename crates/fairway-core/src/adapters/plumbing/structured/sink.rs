//! The interface through which the supervisor of a structured session reports, and has questions judged.

use std::os::fd::BorrowedFd;

use crate::acp::{PermissionChoice, PermissionRequest, Report};

/// The answer to a report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SinkReply {
    /// A text to put before the next prompt.
    pub context: Option<String>,
    /// A prompt to give to the agent now.
    pub prompt: Option<String>,
    /// A note for the conversation.
    pub note: Option<String>,
    /// What shows that the agent does not ask as it should.
    pub refuted: Option<String>,
}

/// The result of judging a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    Decided(PermissionChoice),
    /// A person is asked; [`StructuredSink::decisions`] brings the answer.
    Pending,
}

/// Receives the reports of a structured session, and judges the questions of its agent.
pub trait StructuredSink {
    /// Records a report. A failure becomes a note in the reply, and the session continues.
    fn report(&mut self, report: &Report) -> SinkReply;

    /// Decides whether a tool may run. A failure is a denial. A repeat with the same number replaces the question.
    fn judge(&mut self, question: u64, request: &PermissionRequest) -> Judgement;

    /// A question needs no answer any more.
    fn withdraw(&mut self, question: u64, why: &str);

    /// Becomes readable when [`Self::decisions`] may have news; `None` while no person is asked.
    fn wake_fd(&self) -> Option<BorrowedFd<'_>>;

    /// The decisions of people since the last call.
    fn decisions(&mut self) -> Vec<(u64, PermissionChoice)>;
}

/// The sink of a session without a project: nothing is recorded, and a question is denied because no person can be asked.
#[derive(Debug, Default)]
pub struct NoProject;

impl StructuredSink for NoProject {
    fn report(&mut self, _: &Report) -> SinkReply {
        SinkReply::default()
    }

    fn judge(&mut self, _: u64, _: &PermissionRequest) -> Judgement {
        let why = "the session has no project in which a person could be asked";
        Judgement::Decided(PermissionChoice::deny(Some(why.to_owned())))
    }

    fn withdraw(&mut self, _: u64, _: &str) {}

    fn wake_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn decisions(&mut self) -> Vec<(u64, PermissionChoice)> {
        Vec::new()
    }
}
