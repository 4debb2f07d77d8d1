//! The domain's ids, closed sets and times as values of columns.

#[cfg(feature = "postgres")]
use super::value::ValueType;
use super::value::{FromValue, TypedValue, Value};
use crate::domain::approval::ApprovalStatus;
use crate::domain::checkpoint::{CheckpointOrigin, CheckpointState};
use crate::domain::claim::ClaimEnd;
use crate::domain::evidence::EvidenceResult;
use crate::domain::handoff::HandoffStatus;
use crate::domain::id::{Label, SinkName};
use crate::domain::job::{ItemType, JobId, JobStatus, RecoveryPolicy};
use crate::domain::job_output::WatchScope;
use crate::domain::landing::{LandStyle, LandingState};
use crate::domain::lane::LaneStatus;
use crate::domain::message::{Channel, MessageStatus, Priority};
use crate::domain::notification::ReceiptState;
use crate::domain::overlap::OverlapLevel;
use crate::domain::parking::ParkingCause;
use crate::domain::pull_request::PullState;
use crate::domain::review::Verdict;
use crate::domain::sandbox::SandboxClass;
use crate::domain::session::{Activity, SessionStatus};
use crate::domain::task::TaskStatus;
use crate::domain::{LaneName, Role, RoutingKey, RunId, SessionId, TaskId};
use crate::env::Timestamp;

macro_rules! read_from_text {
    ($type:ty: $what:literal, $parse:expr) => {
        impl FromValue for $type {
            const MEANING: Option<&'static str> = Some($what);

            fn from_value(value: Value<'_>) -> Option<Self> {
                let parse: fn(&str) -> Option<Self> = $parse;
                match value {
                    Value::Text(text) => parse(text),
                    _ => None,
                }
            }
        }
    };
}

macro_rules! texts {
    ($($type:ty: $what:literal, $parse:expr;)+) => {
        $(
            read_from_text!($type: $what, $parse);

            impl TypedValue for $type {
                #[cfg(feature = "postgres")]
                const TYPE: ValueType = ValueType::Text;

                fn typed_value(&self) -> Value<'_> {
                    Value::Text(self.as_str())
                }
            }
        )+
    };
}

texts! {
    TaskId: "a task id", |text| Self::parse(text).ok();
    SessionId: "a session id", |text| Self::parse(text).ok();
    RoutingKey: "a session key", |text| Self::parse(text).ok();
    RunId: "a session run's id", |text| Some(Self::from(text.to_owned()));
    LaneName: "a lane", |text| Self::parse(text).ok();
    Role: "a role", |text| Self::parse(text).ok();
    Label: "a name", |text| Self::parse(text).ok();
    TaskStatus: "a task's status", Self::parse;
    SessionStatus: "a session's status", Self::parse;
    Activity: "an activity", Self::parse;
    SandboxClass: "a sandbox", Self::parse;
    JobStatus: "a job's status", Self::parse;
    RecoveryPolicy: "a recovery", Self::parse;
    LaneStatus: "a lane's status", Self::parse;
    LandStyle: "a landing's style", Self::parse;
    LandingState: "a landing's state", Self::parse;
    PullState: "a pull request's state", Self::parse;
    HandoffStatus: "a handoff's status", Self::parse;
    ApprovalStatus: "an approval's status", Self::parse;
    EvidenceResult: "a result", Self::parse;
    Verdict: "a verdict", Self::parse;
    CheckpointState: "a checkpoint's state", Self::parse;
    CheckpointOrigin: "a checkpoint's origin", Self::parse;
    MessageStatus: "a message's status", Self::parse;
    Priority: "a priority", Self::parse;
    Channel: "a channel", Self::parse;
    SinkName: "a notification's sink", |text| Self::parse(text).ok();
    ReceiptState: "a notification's state", Self::parse;
    WatchScope: "a watcher's scope", Self::parse;
    ClaimEnd: "a claim's end", Self::parse;
    ItemType: "an item's type", Self::parse;
    OverlapLevel: "a level of an overlap", Self::parse;
    ParkingCause: "why a session is parked", |text| Some(Self::from_stored(text));
}

read_from_text!(Vec<(TaskId, i64)>: "a landing's tasks", |text| {
    let pairs: Vec<(String, i64)> = serde_json::from_str(text).ok()?;
    pairs.into_iter().map(|(id, epoch)| Some((TaskId::parse(&id).ok()?, epoch))).collect()
});
// Its callers bind the text that it prints.
read_from_text!(JobId: "a job id", |text| Self::parse(text).ok());

impl TypedValue for Timestamp {
    #[cfg(feature = "postgres")]
    const TYPE: ValueType = ValueType::Integer;

    fn typed_value(&self) -> Value<'_> {
        Value::Integer(self.millis())
    }
}

impl FromValue for Timestamp {
    fn from_value(value: Value<'_>) -> Option<Self> {
        i64::from_value(value).map(Self::from_millis)
    }
}
