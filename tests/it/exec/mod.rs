//! Background runs, from outside: real supervisors and real commands.

mod crash;
mod kill_points;
mod many;
mod output;
mod place;
mod reading;
mod steer;
mod streams;
mod watch;
