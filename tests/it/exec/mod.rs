//! Background runs, from outside: real supervisors and real commands.

mod crash;
mod keys;
mod kill;
mod kill_points;
mod many;
mod place;
mod steer;
mod streams;
mod supervisor;
mod watch;
