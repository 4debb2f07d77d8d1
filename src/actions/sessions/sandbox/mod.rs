//! Sandboxes of lanes: whether one can be made, what it opens, and programs that run in one.

pub mod answer;
pub mod availability;
pub mod environment;
pub mod lane;
pub mod openings;
pub mod run;
