//! Why a prompt waits, and what a person can do about it.

use crate::{
    domain::{
        age,
        message::{Message, MessageStatus, Priority},
        prompt_wait::{PromptWait, WaitReason},
        rules::delivery::{TypingPolicy, typing_policy},
        secrets,
        session::{Activity, Session, SessionStatus},
    },
    env::Timestamp,
};

/// The longest text that a suggested command repeats, in characters.
const MAX_REPEATED_CHARS: usize = 60;

/// Why a message to this session waits; `None` when it does not, or when its next reader can take it now. `has_hooks`: a
/// hook of the session was seen.
#[must_use]
pub fn of_message(message: &Message, session: &Session, has_hooks: bool, now: Timestamp) -> Option<PromptWait> {
    let is_typed = message.is_typed();
    if !is_typed && (message.status != MessageStatus::Queued || message.is_expired(now)) {
        return None;
    }
    let (id, has_backend) = (&session.id, session.adapter_script.is_some());
    let reason = match (session.status, session.activity) {
        _ if is_typed => WaitReason::Typed,
        (SessionStatus::Ended | SessionStatus::Failed, _) => return None,
        (SessionStatus::Starting, _) => WaitReason::Starting,
        (SessionStatus::Stale, _) => WaitReason::Stale,
        // Typing delivers it, or its runtime's stream.
        (SessionStatus::Running, activity)
            if has_backend && typing_policy(message.priority, activity, has_hooks) != TypingPolicy::Wait =>
        {
            return None;
        }
        (SessionStatus::Running, Activity::Idle) => return None,
        (SessionStatus::Running, Activity::Busy) => WaitReason::Busy,
        (SessionStatus::Running, Activity::RequiresAction) => WaitReason::RequiresAction,
        (SessionStatus::Running, Activity::Stopping) => WaitReason::Stopping,
        (SessionStatus::Running, Activity::Unknown) if has_hooks => WaitReason::StateUnknown,
        (SessionStatus::Running, Activity::Unknown) => return None,
    };
    let of_activity = matches!(
        reason,
        WaitReason::Busy | WaitReason::RequiresAction | WaitReason::Stopping | WaitReason::StateUnknown
    );
    let since = session.activity_at.filter(|_| of_activity);
    let for_so_long = since.map(|at| format!(" for {}", age::rough(now.since(at)))).unwrap_or_default();
    let text = match reason {
        WaitReason::Busy => format!("{id} has been busy{for_so_long}"),
        WaitReason::RequiresAction => {
            let question = session.waiting_for.as_deref().map(|text| format!(" ({})", secrets::mask(text)));
            format!("{id} has been waiting for a person{for_so_long}{}", question.unwrap_or_default())
        }
        WaitReason::Stopping => format!("{id} is being stopped"),
        WaitReason::StateUnknown => format!("it is unknown whether {id} works"),
        WaitReason::Starting => format!("{id} is starting"),
        WaitReason::Stale => format!("{id} is stale"),
        WaitReason::Typed => format!("it was typed into {id}, and no report of {id} has confirmed it"),
    };
    let next = next_commands(message, session, reason);
    Some(PromptWait { reason, since, text, next })
}

fn next_commands(message: &Message, session: &Session, reason: WaitReason) -> Vec<(&'static str, String)> {
    let (id, has_backend) = (&session.id, session.adapter_script.is_some());
    match reason {
        // The session takes what interrupts more with its next tool call.
        WaitReason::Busy | WaitReason::StateUnknown if has_backend && message.priority == Priority::Normal => vec![
            ("type it now", format!("fairway session nudge {id} {}", repeated(message))),
            ("then withdraw it here", format!("fairway outbox withdraw {}", message.id)),
        ],
        WaitReason::RequiresAction | WaitReason::Typed if has_backend => {
            vec![("look at it", format!("fairway session attach {id}"))]
        }
        WaitReason::Stale => vec![("settle it", "fairway session reconcile".to_owned())],
        _ => Vec::new(),
    }
}

/// The message's text as a word of a command line, or `TEXT` where it is long or may hold a secret.
fn repeated(message: &Message) -> String {
    let text = message.content.as_str();
    let is_plain = !text.chars().any(char::is_control) && text.chars().nth(MAX_REPEATED_CHARS).is_none();
    if is_plain && secrets::mask(text) == text { shell_words::quote(text).into_owned() } else { "TEXT".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{SessionId, message::Recipient, session::tests::session};

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
            expires_at: None,
            created_at: Timestamp::from_millis(0),
        }
    }

    fn doing(activity: Activity) -> Session {
        let running = Session { adapter_script: Some("/a".into()), ..session(SessionStatus::Running) };
        running.with_activity(activity, Some("Bash: rm x"), "hook", Timestamp::from_millis(20_000))
    }

    #[test]
    fn a_prompt_to_a_busy_session_names_how_long_and_what_types_it() {
        let now = Timestamp::from_millis(100_000);
        let wait = of_message(&message("go on"), &doing(Activity::Busy), true, now).unwrap();
        assert_eq!(
            wait.sentence(),
            "s-1 has been busy for 1m 20s; type it now: fairway session nudge s-1 'go on'; \
             then withdraw it here: fairway outbox withdraw 6"
        );
        for hidden in ["two\nlines", &"long ".repeat(40), "password=hunter2hunter2"] {
            let wait = of_message(&message(hidden), &doing(Activity::Busy), true, now).unwrap();
            assert_eq!(wait.next[0].1, "fairway session nudge s-1 TEXT", "{hidden}");
        }
    }

    #[test]
    fn nothing_is_typed_into_a_question() {
        let now = Timestamp::from_millis(100_000);
        let wait = of_message(&message("go on"), &doing(Activity::RequiresAction), true, now).unwrap();
        assert_eq!(wait.text, "s-1 has been waiting for a person for 1m 20s (Bash: rm x)");
        assert!(wait.next.iter().all(|next| !next.1.contains("nudge")), "{wait:?}");
    }

    #[test]
    fn only_an_undelivered_prompt_to_a_live_session_waits() {
        let now = Timestamp::from_millis(100_000);
        let of = |message: Message, session: Session| of_message(&message, &session, true, now).map(|wait| wait.reason);
        assert_eq!(of(message("x"), doing(Activity::Idle)), None);
        assert_eq!(of(message("x"), session(SessionStatus::Ended)), None);
        let settled = Message { status: MessageStatus::Acknowledged, ..message("x") };
        assert_eq!(of(settled, doing(Activity::Busy)), None);
        assert_eq!(of(message("x"), session(SessionStatus::Stale)), Some(WaitReason::Stale));
        assert_eq!(of(message("x"), doing(Activity::Unknown)), Some(WaitReason::StateUnknown));
        assert_eq!(of_message(&message("x"), &doing(Activity::Unknown), false, now), None, "it is typed at once");
    }
}
