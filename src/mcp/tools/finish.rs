//! `finish`: the end of the work on a task.

use anyhow::Result;
use rmcp::schemars::JsonSchema;
use serde::Deserialize;

use super::tool::{Outcome, ToolCall, tool};
use crate::mcp::reply::Reply;
use fairway_actions::queue::handoff::{self, NewHandoff};
use fairway_actions::queue::task::{done, release, transition};
use fairway_core::domain::{LaneName, Refusal, Role};

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(crate = "rmcp::schemars")]
enum How {
    Done,
    Submit,
    Handoff,
    Release,
}

tool! {
    name: "finish",
    title: "Finish a task",
    description: "End your work on a task. done: close it when its gates are met; a refusal lists each unmet gate with the command \
                  that clears it. submit: hand it in for review, the claim stays. handoff: offer it to a role or lane. release: \
                  give it back to the queue.",
    effect: Ends,
    arguments: {
        /// The way to end it.
        how: How,
        /// Task id; default: your claimed task.
        task: Option<String>,
        /// done, submit: commit of the finished work; default: that of the worktree.
        commit: Option<String>,
        /// handoff: the role to offer it to.
        to_role: Option<String>,
        /// handoff: the lane to offer it to.
        to_lane: Option<String>,
        /// handoff: the state of the work in one line.
        summary: Option<String>,
        /// handoff: details.
        payload: Option<String>,
        /// release: why, kept in the history.
        reason: Option<String>,
    }
}

impl Arguments {
    /// Refuses an argument that does not belong to `how`, and a handoff without a receiver or a summary.
    fn check(&self) -> Result<(), Refusal> {
        let (is_commit, is_handoff, is_release) = match self.how {
            How::Done | How::Submit => (true, false, false),
            How::Handoff => (false, true, false),
            How::Release => (false, false, true),
        };
        let given = [
            ("commit", self.commit.is_some(), is_commit),
            ("to_role", self.to_role.is_some(), is_handoff),
            ("to_lane", self.to_lane.is_some(), is_handoff),
            ("summary", self.summary.is_some(), is_handoff),
            ("payload", self.payload.is_some(), is_handoff),
            ("reason", self.reason.is_some(), is_release),
        ];
        match given.iter().find(|(_, is_given, belongs)| *is_given && !belongs) {
            Some((name, ..)) => Err(Refusal::Usage { why: format!("{name} does not belong to this way to finish") }),
            None if is_handoff && self.to_role.is_some() == self.to_lane.is_some() => {
                Err(Refusal::Usage { why: "a handoff needs to_role or to_lane, and not both".into() })
            }
            None if is_handoff && self.summary.is_none() => {
                Err(Refusal::Usage { why: "a handoff needs a summary".into() })
            }
            None => Ok(()),
        }
    }
}

fn call(call: &ToolCall<'_>, asked: Arguments) -> Result<Outcome> {
    call.session(TOOL.name)?;
    asked.check()?;
    let app = call.app;
    let task = call.task(asked.task.as_deref())?;
    let commit = asked.commit.as_deref().map(commit).transpose()?;
    let answer = match asked.how {
        How::Done => done::done(app, &task, commit.as_deref(), None)?,
        How::Submit => transition::submit(app, &task, commit.as_deref(), None)?,
        How::Release => release::release(app, &task, asked.reason.as_deref(), None)?,
        How::Handoff => {
            let new = NewHandoff {
                to_role: asked.to_role.as_deref().map(Role::parse).transpose()?,
                to_lane: asked.to_lane.as_deref().map(LaneName::parse).transpose()?,
                summary: asked.summary.unwrap_or_default(),
                payload: asked.payload,
            };
            handoff::create(app, &task, &new)?
        }
    };
    Ok(Reply::of_answer(answer).into())
}

/// # Errors
/// `invalid_value` for a text that is not the name of a commit.
fn commit(text: &str) -> Result<String, Refusal> {
    if (7..=64).contains(&text.len()) && text.chars().all(|digit| digit.is_ascii_hexdigit()) {
        Ok(text.to_ascii_lowercase())
    } else {
        Err(Refusal::invalid("commit", "is not a commit of 7 to 64 hexadecimal digits"))
    }
}
