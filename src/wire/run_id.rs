//! The id of a session run in a request document.

use serde::{Deserialize, Deserializer};

use crate::domain::RunId;

impl<'de> Deserialize<'de> for RunId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self::parse(&text))
    }
}
