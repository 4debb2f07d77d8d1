//! Unique ids, random in life and counted in tests.

use std::cell::Cell;
use std::ffi::OsString;

use uuid::Uuid;

use super::Timestamp;

/// Makes ids. With a seed they count upwards from it, so that a test can write them down.
#[derive(Debug, Clone)]
pub struct IdSource {
    seed: Option<Cell<u64>>,
}

impl IdSource {
    /// The source of ids for a value of `FAIRWAY_TEST_SEED`; a random one when the value is absent or no number.
    pub fn from_setting(setting: Option<&OsString>) -> Self {
        let seed = setting.and_then(|text| text.to_str()).and_then(|text| text.parse().ok());
        Self { seed: seed.map(Cell::new) }
    }

    /// Makes a `UUIDv7`, which sorts by time and is unique across processes. With a test seed, makes it from `now` and a counter
    /// instead.
    #[expect(clippy::disallowed_methods, reason = "the one place that makes ids")]
    pub fn uuid(&self, now: Timestamp) -> Uuid {
        match &self.seed {
            None => Uuid::now_v7(),
            Some(next) => {
                next.set(next.get().wrapping_add(1));
                let millis = u64::try_from(now.millis()).unwrap_or(0);
                let mut counted = [0_u8; 10];
                if let Some(tail) = counted.get_mut(2..) {
                    tail.copy_from_slice(&next.get().to_be_bytes());
                }
                uuid::Builder::from_unix_timestamp_millis(millis, &counted).into_uuid()
            }
        }
    }

    /// Five random lower-case letters, for names that people type. With a test seed, they are made from the counter of the ids.
    pub fn random_suffix(&self) -> String {
        let number = match &self.seed {
            None => Uuid::new_v4().as_u128(),
            Some(next) => {
                next.set(next.get().wrapping_add(1));
                u128::from(next.get())
            }
        };
        let mut rest = number;
        (0..5)
            .map(|_| {
                let character = u8::try_from(rest % 26).unwrap_or(0);
                rest /= 26;
                char::from(b'a' + character)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_counts_and_no_seed_does_not_repeat() {
        let seeded = || IdSource::from_setting(Some(&OsString::from("7")));
        let now = Timestamp::from_millis(1_000);
        assert_eq!(seeded().uuid(now), seeded().uuid(now));
        let source = seeded();
        assert_ne!(source.uuid(now), source.uuid(now));
        assert_ne!(source.random_suffix(), source.random_suffix());

        let random = IdSource::from_setting(None);
        assert_ne!(random.uuid(now), random.uuid(now));
        assert!(random.random_suffix().chars().all(|character| character.is_ascii_lowercase()));
    }
}
