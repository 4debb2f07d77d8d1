//! Sandboxes of lanes: whether one can be made, what it opens, and programs that run in one.

pub mod apart;
pub mod calls_from_inside;
pub mod check;
pub mod environment;
pub mod host_gate;
pub mod lane;
pub mod mount_mark;
pub mod openings;
pub mod proxy;
pub mod proxy_forward;
pub mod run;
pub mod state;
pub mod view;
