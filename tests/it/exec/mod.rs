//! Background runs, from outside: real supervisors and real commands.

mod crash;
mod doors;
mod kill_points;
mod many;
mod place;
mod steer;
mod streams;
mod watch;
