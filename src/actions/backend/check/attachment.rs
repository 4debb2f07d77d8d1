//! Somebody's terminal at a session.

use super::bench::Bench;

pub(super) fn look(_bench: &Bench) {}
