//! Background runs, from outside: real supervisors and real commands.

mod steer;
mod watch;
