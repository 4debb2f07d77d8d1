//! Sandboxes of lanes: whether one can be made, what it opens, and programs that run in one.

pub mod answer;
pub mod apart;
pub mod check;
pub mod environment;
pub mod forward;
pub mod host_gate;
pub mod lane;
pub mod mount_mark;
pub mod openings;
pub mod proxy;
pub mod run;
pub mod view;
