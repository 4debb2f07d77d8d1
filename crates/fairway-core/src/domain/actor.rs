//! The actor of a command: a session or a person at a host, with a role and a lane.

use super::{LaneName, Role, RunId, SessionId};

/// The actor as the caller declared it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// The claimant name: the session's id, else `user@host`; on a server `user@host#1f3a`, with letters of the machine.
    pub name: String,
    /// The session, when one is named.
    pub session: Option<SessionId>,
    /// The session run, from the environment.
    pub run_id: Option<RunId>,
    /// The role, when one is named.
    pub role: Option<Role>,
    pub lane: Option<LaneName>,
    /// The epoch that `--epoch` requires.
    pub epoch: Option<i64>,
}

/// The length of the suffix that names a person's machine.
const MACHINE_LETTERS: usize = 4;

impl Actor {
    /// Whether a name in the store means this actor; see [`is_same_claimant`].
    pub fn is_named(&self, name: &str) -> bool {
        is_same_claimant(&self.name, name)
    }

    /// Gives a person's name the suffix that is needed in a store which several machines share: `#` and the first letters of
    /// `machine`, a digest. So one user name on two machines with the same host name is two claimants. Sessions keep their name.
    #[must_use]
    pub fn on_machine(self, machine: &str) -> Self {
        match (&self.session, machine.get(..MACHINE_LETTERS)) {
            (None, Some(letters)) => Self { name: format!("{}#{letters}", self.name), ..self },
            _ => self,
        }
    }
}

/// Whether two recorded names mean the same claimant: equal names, or one person's name with and without the suffix of the
/// machine. A store that was moved to a server has claims of both forms.
pub fn is_same_claimant(one: &str, other: &str) -> bool {
    one == other || without_machine(one) == Some(other) || without_machine(other) == Some(one)
}

/// A person's name without the suffix of the machine; `None` when the name has no such suffix.
fn without_machine(name: &str) -> Option<&str> {
    let (plain, letters) = name.rsplit_once('#')?;
    let is_machine = letters.len() == MACHINE_LETTERS && letters.chars().all(|letter| letter.is_ascii_hexdigit());
    (is_machine && plain.contains('@')).then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn person_is_one_claimant_per_machine_and_the_form_without_a_machine_fits_each() {
        for (one, other, same) in [
            ("ann@build", "ann@build", true),
            ("ann@build#1f3a", "ann@build#1f3a", true),
            ("ann@build#1f3a", "ann@build", true),
            ("ann@build#1f3a", "ann@build#1f3b", false),
            ("ann@build#1f3a", "ann@other", false),
            ("ann@build#1f3a", "ben@build", false),
            ("ann@build#1f3", "ann@build", false),
            ("ann@build#1f3g", "ann@build", false),
            ("s1", "s1", true),
            ("s#1f3a", "s", false),
        ] {
            assert_eq!((is_same_claimant(one, other), is_same_claimant(other, one)), (same, same), "{one} {other}");
        }
    }

    #[test]
    fn only_a_person_is_named_by_the_machine() {
        let person =
            Actor { name: "ann@build".into(), session: None, run_id: None, role: None, lane: None, epoch: None };
        let session = Actor { name: "s1".into(), session: SessionId::parse("s1").ok(), ..person.clone() };
        assert_eq!(person.on_machine("1f3a99").name, "ann@build#1f3a");
        assert_eq!(session.on_machine("1f3a99").name, "s1");
    }
}
