//! The debug log: what this process does, and how long each part takes. Off unless a person asks for it.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Mutex;

use tracing::Level;
use tracing::subscriber::set_global_default;
use tracing_subscriber::fmt::SubscriberBuilder;
use tracing_subscriber::fmt::format::FmtSpan;

/// How much is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Each command, hook, request, transaction and program, with its time.
    Debug,
    /// Also each statement of the store.
    Trace,
}

impl Detail {
    /// The level for `debug` or `trace`; `None` for any other name.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "debug" => Some(Self::Debug),
            "trace" => Some(Self::Trace),
            _ => None,
        }
    }
}

/// Starts the log of this process: appended to `file`, or on stderr. A second start changes nothing.
pub fn start(detail: Detail, file: Option<&Path>) -> io::Result<()> {
    let level = match detail {
        Detail::Debug => Level::DEBUG,
        Detail::Trace => Level::TRACE,
    };
    let log = SubscriberBuilder::default().with_max_level(level).with_span_events(FmtSpan::CLOSE);
    let _ = match file {
        None => set_global_default(log.with_writer(io::stderr).finish()),
        Some(file) => {
            // Several processes append whole lines.
            let file = OpenOptions::new().append(true).create(true).mode(0o600).open(file)?;
            set_global_default(log.with_writer(Mutex::new(file)).finish())
        }
    };
    Ok(())
}
