//! What is done with background runs.

mod begin;
pub mod call;
pub mod direct;
pub mod end;
pub mod find;
pub mod gc;
pub mod leftovers;
mod letters;
pub mod list;
pub mod next;
pub mod note;
pub mod recover;
pub mod rm;
pub mod spawn;
pub mod standby;
pub mod steer;
pub mod supervise;
pub mod worker;
