//! The program that does nothing: what starting and ending a process costs.

fn main() {}
