//! What is done with background runs.

mod begin;
pub mod call;
pub mod direct;
pub mod end;
pub mod find;
pub mod keys;
pub mod kill;
mod letters;
pub mod next;
pub mod note;
pub mod spawn;
pub mod standby;
pub mod steer;
pub mod supervise;
pub mod worker;
