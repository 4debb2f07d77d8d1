//! The delivery of a launch's first prompt. A report of the session proves that it arrived, or the screen shows that the
//! program asks a person something first.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::plan::LaunchPlan;
use crate::App;
use crate::core::{errors, lookup};
use crate::sessions::adapter_endpoint;
use crate::sessions::report::{idle_screen, screen_dialog};
use fairway_core::config::{ProviderProfile, show_duration};
use fairway_core::domain::message::MessageStatus;
use fairway_core::domain::rules::screen_state;
use fairway_core::domain::session::{Activity, Session};
use fairway_core::domain::string_enum::string_enum;
use fairway_core::domain::{EventKind, Refusal, secrets};
use fairway_core::os::notify::ChangeWaiter;
use fairway_core::store::{ReadTx, events, messages};
use fairway_core::wire::FirstPromptView;

/// How long a launch waits for the delivery of its first prompt by default.
pub const DEFAULT_WAIT: Duration = Duration::from_secs(10);

/// The pause between two looks at the screen: a question that a program shows changes nothing in the store.
const LOOK_PAUSE: Duration = Duration::from_secs(1);

string_enum! {
    /// The delivery state of a first prompt.
    FirstPromptState {
        Arrived => "arrived",
        WaitingForPerson => "waiting_for_person",
        NotSeen => "not_seen",
        Unconfirmed => "unconfirmed",
    }
}

/// The delivery of a first prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstPrompt {
    pub state: FirstPromptState,
    /// The question on the screen, while the program waits for a person.
    pub question: Option<String>,
    /// The message with the prompt.
    pub message_id: Option<i64>,
}

impl FirstPrompt {
    /// Whether there is no proof that the program received the prompt.
    pub const fn is_unread(&self) -> bool {
        !matches!(self.state, FirstPromptState::Arrived)
    }

    /// The state as a line of the answer; `None` when nothing is known.
    pub fn line(&self) -> Option<String> {
        match (self.state, &self.question) {
            (FirstPromptState::Arrived, _) => Some("first prompt: arrived".to_owned()),
            (FirstPromptState::WaitingForPerson, Some(question)) => {
                Some(format!("first prompt: waits for a person, who is asked: {question}"))
            }
            (FirstPromptState::WaitingForPerson, None) => Some("first prompt: waits for a person".to_owned()),
            (FirstPromptState::NotSeen, _) => Some("first prompt: not seen to arrive".to_owned()),
            (FirstPromptState::Unconfirmed, _) => None,
        }
    }

    pub fn view(&self) -> FirstPromptView {
        FirstPromptView {
            state: self.state.as_str().to_owned(),
            question: self.question.clone(),
            message_id: self.message_id,
        }
    }
}

/// The error of a launch that was told to wait for its first prompt, when the prompt has not arrived after `within`. `None`
/// when it has arrived, or when that cannot be known.
pub fn refusal(session: &str, view: &FirstPromptView, within: Duration) -> Option<Refusal> {
    let is_pending = [FirstPromptState::WaitingForPerson, FirstPromptState::NotSeen]
        .iter()
        .any(|state| state.as_str() == view.state);
    is_pending.then(|| Refusal::FirstPromptPending {
        session: session.to_owned(),
        question: view.question.clone(),
        message: view.message_id,
        within: show_duration(within),
    })
}

/// Waits at most `limit` until the first prompt of a launched session has arrived. Returns earlier when the session ends and,
/// unless `through_questions` is set, at the first question that a person must answer. For a program that sends no reports it
/// returns at once, because the arrival cannot be observed. `None` for a launch without a prompt.
pub(crate) fn watch(
    app: &App,
    plan: &LaunchPlan,
    limit: Duration,
    through_questions: bool,
) -> Result<Option<FirstPrompt>> {
    let id = &plan.session.id;
    let session = app.read(|tx| lookup::session(tx, id))?;
    if !plan.has_prompt && session.first_prompt.is_none() {
        return Ok(None);
    }
    let profile = session.provider.as_ref().map(|provider| app.settings.provider(provider.as_str()).profile);
    let profile = profile.unwrap_or_default();
    let first = |state, question| FirstPrompt { state, question, message_id: session.first_prompt };
    let reports = session.first_prompt.is_some() || profile.trust_question.is_some();
    if !reports {
        return Ok(Some(first(FirstPromptState::Unconfirmed, None)));
    }
    let deadline = Instant::now() + limit;
    // Bound before the first look, so that no change is missed.
    let waiter: ChangeWaiter = app.waiter("launch")?;
    loop {
        let now = app.read(|tx| lookup::session(tx, id))?;
        if app.read(|tx| has_arrived(tx, &now))? {
            return Ok(Some(first(FirstPromptState::Arrived, None)));
        }
        // A structured session has no screen: the text of its conversation may hold any sign.
        let has_screen = !now.status.is_final() && !now.is_structured();
        let question = if has_screen { question(app, &now, &profile) } else { None };
        if has_screen {
            screen_dialog::record(app, &now, question.as_deref())?;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if now.status.is_final() || left.is_zero() || (question.is_some() && !through_questions) {
            let state = if question.is_some() { FirstPromptState::WaitingForPerson } else { FirstPromptState::NotSeen };
            return Ok(Some(first(state, question)));
        }
        let pause = left.min(LOOK_PAUSE).max(Duration::from_millis(1));
        let woken_until = Instant::now() + pause;
        // A change of the store is looked at at once; the screen only after the pause.
        while waiter.wait(Some(woken_until.saturating_duration_since(Instant::now()))).map_err(errors::internal)? {
            if app.read(|tx| has_arrived(tx, &lookup::session(tx, id)?))? {
                return Ok(Some(first(FirstPromptState::Arrived, None)));
            }
        }
    }
}

/// Whether the prompt is proven to have arrived: its message is acknowledged, or the session reported that a turn began.
fn has_arrived(tx: &ReadTx<'_>, session: &Session) -> Result<bool> {
    if let Some(id) = session.first_prompt {
        return Ok(messages::find(tx, id)?.is_some_and(|message| message.status == MessageStatus::Acknowledged));
    }
    let is_turn = |event: &events::LoggedEvent| {
        let data = event.data.as_object();
        event.run_id.as_deref() == Some(session.run_id.as_str())
            && data.and_then(|data| data.get("to")?.as_str()) == Some(Activity::Busy.as_str())
    };
    let kind = |kind| kind == EventKind::SessionActivity;
    Ok(events::newest_of_session_matching(tx, &session.id, kind, is_turn)?.is_some())
}

/// The trust or permission question on the session's screen that a person must answer.
fn question(app: &App, session: &Session, profile: &ProviderProfile) -> Option<String> {
    let texts = [&profile.trust_question, &profile.permission_question];
    let texts: Vec<String> = texts.into_iter().flatten().flatten().cloned().collect();
    let adapter = adapter_endpoint::adapter(app, session, &["session", "peek", session.id.as_str()]).ok()?;
    let screen = adapter.visible_screen(adapter_endpoint::backend_name(session), idle_screen::LINES).ok()?;
    let sign = screen_state::find_question(&screen, &texts)?;
    Some(secrets::mask(screen_state::question_line(&screen, sign)))
}
