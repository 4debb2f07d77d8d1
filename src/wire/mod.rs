//! The JSON that leaves the house: one view per noun, the same wherever it appears. Names are stable; absent values are
//! `null`, lists are never `null`.

mod error;
mod event;
mod gate;
mod lane;
mod launch;
mod session;
mod task;

pub use error::{ErrorDocument, Failure, FailureKind};
pub use event::EventView;
pub use gate::{BlockerView, GateReportView};
pub use lane::LaneView;
pub use launch::{BackendView, LaunchView};
pub use session::SessionView;
pub use task::{CheckView, ClaimView, TaskView, WaitingView};

use crate::env::Timestamp;

/// A time as text, when there is one.
fn time(at: Option<Timestamp>) -> Option<String> {
    at.map(|at| at.to_string())
}

/// The text of ids.
fn texts<T: ToString>(items: &[T]) -> Vec<String> {
    items.iter().map(ToString::to_string).collect()
}
