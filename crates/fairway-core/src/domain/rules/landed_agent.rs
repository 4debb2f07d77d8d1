//! Whether an agent ends with its lane, after the work has landed: only one that has nothing left to do.

use crate::domain::plural;
use crate::domain::session::Activity;
use crate::domain::session_facts::SessionOverview;

/// What is known of an agent besides its session.
#[derive(Debug, Clone, Copy)]
pub struct AgentFacts {
    /// Whether it has worked on a task of the lane.
    pub has_worked: bool,
    /// How many messages of people it has not read.
    pub unread: usize,
}

/// Why an agent stays, as a clause whose subject is the agent; `None` when it ends. An unknown state keeps it.
pub fn why_it_stays(one: &SessionOverview, facts: AgentFacts) -> Option<String> {
    if let Some(held) = one.holds.first() {
        return Some(format!("has claimed {}", held.task));
    }
    if one.session.adapter_script.is_none() {
        return Some("was not launched by Fairway".to_owned());
    }
    match one.current_activity() {
        Some(Activity::Idle) => {}
        Some(Activity::Busy) => return Some("is busy".to_owned()),
        Some(Activity::RequiresAction) => return Some("waits for a person".to_owned()),
        Some(Activity::Stopping) => return Some("is being stopped".to_owned()),
        Some(Activity::Unknown) => return Some("has not reported whether it is idle".to_owned()),
        None => return Some(format!("is {}", one.shown_status())),
    }
    if !facts.has_worked {
        return Some("has claimed no task of the lane before".to_owned());
    }
    (facts.unread > 0).then(|| format!("has not read {}", plural::count(facts.unread, "message")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::session::tests::session;
    use crate::domain::session::{HOOK_SOURCE, Session, SessionStatus};
    use crate::domain::session_facts::{AliveSource, Aliveness, HeldTask, Seen};
    use crate::domain::task::TaskStatus;
    use crate::domain::{SessionId, TaskId};
    use crate::env::Timestamp;

    fn overview(activity: Activity, alive: bool) -> SessionOverview {
        let session =
            session(SessionStatus::Running).with_activity(activity, None, HOOK_SOURCE, Timestamp::from_millis(5));
        let session = Session { adapter_script: Some("tmux.sh".into()), ..session };
        SessionOverview {
            seen: Seen::of(&session, None),
            session,
            alive: Aliveness { alive: Some(alive), source: AliveSource::Process, reason: String::new() },
            holds: Vec::new(),
            doing: None,
            can_relaunch: false,
            silence: None,
            unguarded: None,
            is_stopped_by_reader: false,
            noticed_at: None,
            ended_turn: None,
            turn_shown_at: None,
            parking: None,
        }
    }

    #[test]
    fn only_an_idle_agent_without_a_claim_that_has_worked_and_read_everything_ends() {
        let done = AgentFacts { has_worked: true, unread: 0 };
        let why = |one: &SessionOverview, facts| why_it_stays(one, facts).unwrap_or_default();
        let idle = overview(Activity::Idle, true);
        assert_eq!(why_it_stays(&idle, done), None);
        for (activity, expected) in [
            (Activity::Busy, "is busy"),
            (Activity::RequiresAction, "waits for a person"),
            (Activity::Stopping, "is being stopped"),
            (Activity::Unknown, "has not reported whether it is idle"),
        ] {
            assert_eq!(why(&overview(activity, true), done), expected);
        }
        assert_eq!(why(&overview(Activity::Idle, false), done), "is dead");
        let silent = SessionOverview { silence: Some("silent".into()), ..idle.clone() };
        assert_eq!(why(&silent, done), "is stale");
        assert_eq!(why(&idle, AgentFacts { has_worked: false, ..done }), "has claimed no task of the lane before");
        assert_eq!(why(&idle, AgentFacts { unread: 1, ..done }), "has not read 1 message");
        let by_hand = Session { adapter_script: None, ..idle.session.clone() };
        assert_eq!(why(&SessionOverview { session: by_hand, ..idle.clone() }, done), "was not launched by Fairway");
        let held = HeldTask {
            task: TaskId::parse("T-5").unwrap(),
            title: String::new(),
            status: TaskStatus::Review,
            lane: None,
            claimant: "s".into(),
            session: Some(SessionId::parse("s").unwrap()),
            epoch: 1,
            claimed_at: Timestamp::from_millis(1),
            lease_until: None,
            blocked_reason: None,
            updated_at: Timestamp::from_millis(1),
        };
        assert_eq!(why(&SessionOverview { holds: vec![held], ..idle }, done), "has claimed T-5");
    }
}
