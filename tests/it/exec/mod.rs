//! Background runs, from outside: real supervisors and real commands.

mod crash;
mod kill_points;
mod many;
mod place;
mod steer;
mod streams;
mod watch;
