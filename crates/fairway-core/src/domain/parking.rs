//! Why a session is parked: the kind of the cause and its subject.

use std::fmt;

use super::id::Label;
use super::string_enum::string_enum;

string_enum! {
    /// The kind of cause for which a session is parked.
    ParkingKind {
        /// The usage limit of its provider: no other session of that provider starts.
        UsageLimit => "usage_limit",
        /// A spent budget: the session is paused.
        Budget => "budget",
        /// What a person has said.
        Reason => "reason",
    }
}

/// A kind and its subject as one text, such as `usage_limit:NAME`. No text of a person becomes another kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParkingCause(String);

impl ParkingCause {
    pub fn usage_limit(provider: &Label) -> Self {
        Self::new(ParkingKind::UsageLimit, provider.as_str())
    }

    pub fn new(kind: ParkingKind, subject: &str) -> Self {
        Self(format!("{kind}:{subject}"))
    }

    /// Reads a stored text. One without a kind is a reason.
    pub fn from_stored(text: &str) -> Self {
        Self(text.to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn kind(&self) -> ParkingKind {
        self.parts().0
    }

    fn parts(&self) -> (ParkingKind, &str) {
        let known = self.0.split_once(':').and_then(|(kind, subject)| Some((ParkingKind::parse(kind)?, subject)));
        known.unwrap_or((ParkingKind::Reason, &self.0))
    }
}

impl fmt::Display for ParkingCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parts() {
            (ParkingKind::UsageLimit, provider) => write!(f, "usage limit of {provider}"),
            (ParkingKind::Budget, subject) => write!(f, "budget of {subject}"),
            (ParkingKind::Reason, text) => f.write_str(text),
        }
    }
}
