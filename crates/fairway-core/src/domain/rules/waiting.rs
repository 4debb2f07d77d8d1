//! Why a prompt waits, and what a person can do about it.

use crate::domain::message::{Message, MessageStatus, PromptWait, WaitReason};
use crate::domain::question::QuestionId;
use crate::domain::rules::delivery::{self, Urgency};
use crate::domain::rules::open_question::{AnswerWay, answer_way};
use crate::domain::session::{Session, SessionStatus};
use crate::domain::{age, secrets};
use crate::env::Timestamp;

/// Why a message to this session waits. Returns `None` when it does not wait, and when the session's next reader can take it now.
/// A message to a session that has ended waits only if it was typed before.
pub fn of_message(message: &Message, session: &Session, now: Timestamp) -> Option<PromptWait> {
    let is_typed = message.is_typed();
    if !is_typed && (message.status != MessageStatus::Queued || message.is_expired(now)) {
        return None;
    }
    let reason = match session.status {
        _ if is_typed => WaitReason::Typed,
        SessionStatus::Ended | SessionStatus::Failed => return None,
        SessionStatus::Starting => WaitReason::SessionStarting,
        SessionStatus::Stale => WaitReason::SessionStale,
        SessionStatus::Running if session.is_parked(now) => WaitReason::SessionParked,
        SessionStatus::Running => delivery::wait_reason(Urgency::of(message), session.activity)?,
    };
    let id = &session.id;
    let for_so_long =
        || session.activity_at.map(|at| format!(" for {}", age::rough(now.since(at)))).unwrap_or_default();
    let text = match reason {
        WaitReason::SessionBusy => format!("{id} has been busy{}", for_so_long()),
        WaitReason::SessionAsks => {
            let question = session.waiting_for.as_deref().map(|text| format!(" ({})", secrets::mask(text)));
            format!("{id} has been waiting for a person{}{}", for_so_long(), question.unwrap_or_default())
        }
        WaitReason::SessionStopping => format!("{id} is being stopped"),
        WaitReason::SessionParked => format!("{id} is {}", session.parking(now).unwrap_or_default()),
        WaitReason::StateUnknown => format!("{id} has not reported its state"),
        WaitReason::SessionStarting => format!("{id} is starting"),
        WaitReason::SessionStale => format!("{id} is stale"),
        WaitReason::Typed => format!("it was typed into {id}, and no report of {id} has confirmed it"),
    };
    let has_backend = session.adapter_script.is_some();
    let hint = match reason {
        WaitReason::SessionBusy | WaitReason::StateUnknown if has_backend && message.is_decision() => {
            Some(format!("type it into its terminal: fairway send {id} --queued"))
        }
        WaitReason::SessionBusy if has_backend => {
            Some(format!("interrupt the turn: fairway send {id} TEXT --priority urgent"))
        }
        WaitReason::StateUnknown if has_backend => Some(format!("say it at once: fairway send {id} TEXT --now")),
        WaitReason::SessionAsks if has_backend && answer_way(session) == AnswerWay::Text => {
            let question = QuestionId::activity(id.clone(), session.questions);
            Some(format!("answer the question: fairway answer {question} TEXT"))
        }
        WaitReason::SessionAsks if has_backend => Some(format!("answer in its terminal: fairway session attach {id}")),
        WaitReason::Typed if has_backend => Some(format!("look at it: fairway session attach {id}")),
        WaitReason::SessionParked => Some(format!("end its parking: fairway session unpark {id}")),
        WaitReason::SessionStale => Some("settle it: fairway session reconcile".to_owned()),
        _ => None,
    };
    Some(PromptWait { reason, text, hint })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::SessionId;
    use crate::domain::message::{Priority, Recipient};
    use crate::domain::session::Activity;
    use crate::domain::session::tests::session;

    fn message(content: &str) -> Message {
        Message {
            id: 6,
            to: Recipient::Session(SessionId::parse("s-1").unwrap()),
            priority: Priority::Normal,
            source: "nudge".into(),
            content: content.into(),
            metadata: None,
            status: MessageStatus::Queued,
            offered_to: None,
            offered_until: None,
            channel: None,
            dedup: None,
            count: 1,
            announced_to: None,
            answered_at: None,
            stop_reason: None,
            expires_at: None,
            created_at: Timestamp::from_millis(0),
        }
    }

    fn doing(activity: Activity) -> Session {
        let running = Session { adapter_script: Some("/a".into()), ..session(SessionStatus::Running) };
        running.with_activity(activity, Some("Bash: rm x"), "hook", Timestamp::from_millis(20_000))
    }

    #[test]
    fn prompt_to_a_busy_session_names_how_long_and_what_types_it() {
        let now = Timestamp::from_millis(100_000);
        let wait = of_message(&message("go on"), &doing(Activity::Busy), now).unwrap();
        assert_eq!(
            wait.sentence(),
            "s-1 has been busy for 1m 20s; interrupt the turn: fairway send s-1 TEXT --priority urgent"
        );
    }

    #[test]
    fn prompt_is_not_typed_into_a_question() {
        let now = Timestamp::from_millis(100_000);
        let wait = of_message(&message("go on"), &doing(Activity::RequiresAction), now).unwrap();
        assert_eq!(wait.text, "s-1 has been waiting for a person for 1m 20s (Bash: rm x)");
        assert!(wait.hint.iter().all(|hint| !hint.contains("nudge")), "{wait:?}");
    }

    #[test]
    fn prompt_waits_only_undelivered_and_to_a_live_session() {
        let now = Timestamp::from_millis(100_000);
        let of = |message: Message, session: Session| of_message(&message, &session, now).map(|wait| wait.reason);
        assert_eq!(of(message("x"), doing(Activity::Idle)), None);
        assert_eq!(of(message("x"), session(SessionStatus::Ended)), None);
        let settled = Message { status: MessageStatus::Acknowledged, ..message("x") };
        assert_eq!(of(settled, doing(Activity::Busy)), None);
        assert_eq!(of(message("x"), session(SessionStatus::Stale)), Some(WaitReason::SessionStale));
        assert_eq!(of(message("x"), session(SessionStatus::Starting)), Some(WaitReason::SessionStarting));
        assert_eq!(of(message("x"), doing(Activity::Unknown)), Some(WaitReason::StateUnknown));
    }
}
