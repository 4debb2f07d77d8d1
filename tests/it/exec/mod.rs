//! Background runs, from outside: real supervisors and real commands.

mod crash;
mod doors;
mod keys;
mod kill;
mod kill_points;
mod many;
mod output;
mod place;
mod queue;
mod reading;
mod recovery;
mod retention;
mod spawn;
mod steer;
mod streams;
mod supervisor;
mod watch;
