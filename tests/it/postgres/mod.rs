//! A store on a PostgreSQL server: the same commands give the same answers as on a SQLite file, and many hosts may give them at
//! once.

mod addresses;
mod example;
mod moves;
mod same_answers;
mod schema;
mod sessions;
mod storm;
mod transactions;
