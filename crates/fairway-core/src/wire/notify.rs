//! Notifications as documents: the one that a sink gets, and the answers of `fairway notify`.

use serde::Serialize;

use super::NeedView;
use crate::domain::answer_token::AnswerAction;
use crate::domain::need::NeedKind;

/// A notification as the sink `command` gets it on stdin. Its form is versioned; keys are only added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct NotificationView {
    /// The version of this form.
    pub version: u32,
    /// `item`, `summary` or `test`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The time.
    pub at: String,
    /// The project's name.
    pub project: String,
    /// The project's root directory.
    pub root: String,
    /// The address of the item on the page, for a paired device; null without a server that has the page.
    pub link: Option<String>,
    /// It in a few words.
    pub title: String,
    /// It in a sentence; of a summary one line for each of the first items.
    pub text: String,
    /// The items, as the board has them, with secrets masked; none in a test.
    pub items: Vec<NeedView>,
    /// What answers the only item, for a sink with `actions`, while a server has the page; none in a summary.
    pub actions: Vec<NotificationActionView>,
}

/// An action that answers an item once. Who has it can answer, for a day, as long as the item is open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct NotificationActionView {
    /// `allow`, `deny` or `answer`.
    pub action: AnswerAction,
    /// It in a word, for a button.
    pub label: &'static str,
    /// The address to which `body` is posted, as a form: by HTTPS in the network, else an address of this machine.
    pub url: String,
    /// The same, for a program on this machine.
    pub local_url: String,
    /// The body that does it, with a token that is valid once; with `needs_text` a field `text` is added. Null where the line does
    /// not tell the whole request: then only `form` does it, which shows all.
    pub body: Option<String>,
    /// The address of a form with a button that does it. Opening it changes nothing.
    pub form: String,
    /// Whether the person writes a text for it.
    pub needs_text: bool,
    /// When the token ends.
    pub expires_at: String,
}

/// The outcome of one attempt at a sink.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SentView {
    /// The sink.
    pub sink: String,
    /// `sent`, `retry` or `failed`.
    pub state: &'static str,
    /// The ids of the items; several in a summary, none in a test.
    pub items: Vec<String>,
    /// The title.
    pub title: String,
    /// The number of the attempt.
    pub attempt: i64,
    /// Why it was not sent.
    pub error: Option<String>,
    /// When it is tried again.
    pub retry_at: Option<String>,
}

/// The settings of notifications, and what became of the items that need a person now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct NotifyStateView {
    /// The sinks of the configuration.
    pub sinks: Vec<String>,
    /// The quiet window in local time.
    pub quiet: Option<String>,
    /// The end of the quiet window, while it lasts.
    pub quiet_until: Option<String>,
    /// The sinks with settings of their own.
    pub per_sink: Vec<SinkView>,
    /// Why no program of a sink is run.
    pub untrusted: Option<String>,
    /// The items, each at each sink.
    pub items: Vec<ReceiptView>,
}

/// The settings of a sink that has some of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SinkView {
    /// The sink.
    pub sink: String,
    /// The kinds of items that are sent to it; `null` for every kind.
    pub kinds: Option<Vec<NeedKind>>,
    /// Whether its notifications carry what answers them.
    pub actions: bool,
}

/// The state of an item at a sink.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ReceiptView {
    /// The item's id.
    pub item: String,
    /// The sink.
    pub sink: String,
    /// `due`, `held`, `claimed`, `retry`, `sent` or `failed`.
    pub state: &'static str,
    /// How often it was tried.
    pub attempts: i64,
    /// The time of the last change.
    pub at: Option<String>,
    /// When it is tried again.
    pub retry_at: Option<String>,
    /// Why the last attempt failed.
    pub error: Option<String>,
}
