//! The agents' real command lines, on models that run in the test.

mod records;
