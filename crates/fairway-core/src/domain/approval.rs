//! An approval: what a provider asked a person to permit, and what became of it.

use super::string_enum::string_enum;
use super::{Refusal, RunId, SessionId};
use crate::env::Timestamp;

string_enum! {
    /// Whether it was answered, and how. Lapsed: the provider went on without an answer from here.
    ApprovalStatus { Pending => "pending", Allowed => "allowed", Denied => "denied", Lapsed => "lapsed" }
}

string_enum! {
    /// The decision of a person.
    Decision { Allow => "allow", Deny => "deny" }
}

impl Decision {
    pub const fn status(self) -> ApprovalStatus {
        match self {
            Self::Allow => ApprovalStatus::Allowed,
            Self::Deny => ApprovalStatus::Denied,
        }
    }
}

/// The answers that allow, which the asking agent takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offers {
    /// For this call.
    pub once: bool,
    /// For this call and further ones that the agent takes as alike.
    pub always: bool,
}

impl Offers {
    /// The offer of a hook.
    pub const ONCE: Self = Self { once: true, always: false };

    /// Why an answer that allows does not fit, with the purpose and the command of one that does; `None` when it fits.
    pub fn gap(self, id: i64, is_lasting: bool) -> Option<(&'static str, String)> {
        match (self.once, self.always) {
            (true, _) => None,
            (false, true) if is_lasting => None,
            (false, true) => Some((
                "the agent takes a yes for this call only together with all that it takes as alike",
                format!("allow them all: fairway approvals answer {id} allow --always"),
            )),
            (false, false) => {
                let deny = format!("deny it: fairway approvals answer {id} deny");
                Some(("the agent offers no answer that allows it", deny))
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    pub id: i64,
    /// The session that wants to do something.
    pub session: SessionId,
    pub run_id: RunId,
    /// The provider that asks, a label.
    pub provider: String,
    /// The tool that it would use.
    pub tool: String,
    /// The tool's input as JSON: masked and shortened.
    pub input: String,
    /// Whether a hook waits for the answer.
    pub answerable: bool,
    /// Whether it was answered, and how.
    pub status: ApprovalStatus,
    /// Why it was answered so, or why it lapsed.
    pub reason: Option<String>,
    /// Since when it is asked.
    pub asked_at: Timestamp,
    /// When it was answered or lapsed.
    pub answered_at: Option<Timestamp>,
    pub answered_by: Option<String>,
}

impl Approval {
    /// Refuses an approval that is answered or has lapsed.
    /// Fails with `approval_lapsed`, `already_answered`.
    pub fn check_pending(&self) -> Result<(), Refusal> {
        match self.status {
            ApprovalStatus::Pending => Ok(()),
            ApprovalStatus::Lapsed => Err(Refusal::ApprovalLapsed { id: self.id, why: self.reason.clone() }),
            status @ (ApprovalStatus::Allowed | ApprovalStatus::Denied) => {
                Err(Refusal::AlreadyAnswered { noun: "approval", id: self.id, status: status.as_str() })
            }
        }
    }

    /// Whether `by` (`None`: a person) may give this answer. Returns `Ok(false)` when the approval already has it.
    /// Fails with `approval_lapsed`, `already_answered`, `not_answerable`, and `own_approval` when the session that asks would
    /// answer itself.
    pub fn answerable_by(&self, by: Option<&SessionId>, decision: Decision) -> Result<bool, Refusal> {
        if by == Some(&self.session) {
            return Err(Refusal::SelfApproval { id: self.id, session: self.session.clone() });
        }
        if self.status == decision.status() {
            return Ok(false);
        }
        self.check_pending()?;
        if self.answerable {
            return Ok(true);
        }
        let why = format!("{} asks in its own window", self.provider);
        Err(Refusal::NotAnswerable { id: self.id, session: self.session.clone(), why })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn approval(status: ApprovalStatus, answerable: bool) -> Approval {
        Approval {
            id: 7,
            session: SessionId::parse("s1").unwrap(),
            run_id: RunId::parse("run-1"),
            provider: "x".into(),
            tool: "Bash".into(),
            input: "{}".into(),
            answerable,
            status,
            reason: None,
            asked_at: Timestamp::from_millis(0),
            answered_at: None,
            answered_by: None,
        }
    }

    #[test]
    fn yes_for_one_call_never_becomes_one_for_all() {
        for (once, always, is_lasting, expected) in [
            (true, true, false, None),
            (true, false, true, None),
            (false, true, true, None),
            (false, true, false, Some("allow them all: fairway approvals answer 7 allow --always")),
            (false, false, false, Some("deny it: fairway approvals answer 7 deny")),
            (false, false, true, Some("deny it: fairway approvals answer 7 deny")),
        ] {
            let gap = Offers { once, always }.gap(7, is_lasting);
            assert_eq!(gap.map(|(_, hint)| hint).as_deref(), expected, "{once} {always} {is_lasting}");
        }
    }

    #[test]
    fn approval_is_answered_once_and_not_by_its_own_session() {
        use ApprovalStatus::{Allowed, Denied, Lapsed, Pending};
        let (own, other) = (SessionId::parse("s1").unwrap(), SessionId::parse("s2").unwrap());
        for (status, answerable, by, decision, expected) in [
            (Pending, true, None, Decision::Allow, Ok(true)),
            (Pending, true, Some(&other), Decision::Deny, Ok(true)),
            (Pending, true, Some(&own), Decision::Allow, Err("own_approval")),
            (Pending, true, Some(&own), Decision::Deny, Err("own_approval")),
            (Pending, false, None, Decision::Deny, Err("not_answerable")),
            (Allowed, true, None, Decision::Allow, Ok(false)),
            (Allowed, false, None, Decision::Allow, Ok(false)),
            (Allowed, true, None, Decision::Deny, Err("already_answered")),
            (Denied, true, None, Decision::Allow, Err("already_answered")),
            (Lapsed, true, None, Decision::Allow, Err("approval_lapsed")),
        ] {
            let said = approval(status, answerable).answerable_by(by, decision);
            assert_eq!(said.map_err(|refusal| refusal.code()), expected, "{status} {decision}");
        }
    }
}
