//! The scripts that start sessions, in the hands of any caller.

mod check;
