//! Whole numbers of a request body. JSON Schema, and some clients, also write them with a point, such as `2.0`.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The largest number with a point that is exactly a whole one: 2^53.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// Reads a whole number, which may also be written as `3.0`. Returns `None` for any other value and beyond 64 bits.
pub fn whole_number(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| {
        let number = value.as_f64().filter(|number| number.fract() == 0.0 && number.abs() <= MAX_EXACT)?;
        // Rust has no checked conversion from a float.
        format!("{number:.0}").parse().ok()
    })
}

/// Deserializes a list of whole numbers. Refuses numbers with a fraction, but accepts `3.0`.
pub fn deserialize_whole_numbers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<i64>, D::Error> {
    let items = Vec::<Value>::deserialize(deserializer)?;
    items.iter().map(|item| whole_number(item).ok_or_else(|| D::Error::custom("not a whole number"))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whole_number_may_be_written_with_a_point_and_a_fraction_is_none() {
        for (value, number) in [
            (json!(7), Some(7)),
            (json!(-0.0), Some(0)),
            (json!(-719.0), Some(-719)),
            (json!(i64::MAX), Some(i64::MAX)),
            (json!(u64::MAX), None),
            (json!(0.5), None),
            (json!(1e300), None),
            (json!("7"), None),
            (json!(null), None),
        ] {
            assert_eq!(whole_number(&value), number, "{value}");
        }
    }
}
