//! What is done with background runs.

mod begin;
pub mod call;
pub mod decode;
pub mod direct;
pub mod end;
pub mod find;
pub mod gc;
pub mod keys;
pub mod kill;
pub mod leftovers;
mod letters;
pub mod list;
pub mod log;
pub mod look;
pub mod next;
pub mod note;
pub mod poll;
pub mod recover;
pub mod rm;
pub mod spawn;
pub mod standby;
pub mod steer;
pub mod supervise;
pub mod sweep;
pub mod wait;
mod waiting;
pub mod worker;
