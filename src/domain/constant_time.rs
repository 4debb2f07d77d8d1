//! Comparing secrets.

/// Compares in constant time, so that the duration does not reveal where two texts differ.
pub fn constant_time_eq(left: &[u8], right: &[u8]) -> bool {
    left.len() == right.len() && left.iter().zip(right).fold(0, |differs, (left, right)| differs | (left ^ right)) == 0
}
