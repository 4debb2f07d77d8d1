//! Background runs, from outside: real supervisors and real commands.

mod documented_examples;
mod job_project;
mod kill;
mod kill_points;
mod large_output;
mod many_jobs;
mod moved_project;
mod notifications;
mod output_store;
mod poll;
mod queue;
mod recovery;
mod retention;
mod send_keys;
mod session_keys;
mod spawn;
mod supervisor;
mod supervisor_crash;
mod watchers;
