//! Flags that every command takes, anywhere on the line.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::values;
use fairway_core::domain::{Role, RoutingKey};

/// The id of the argument `--request-id` in the parser.
pub(super) const REQUEST_ID: &str = "request_id";

/// When to colour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Always => "always",
            Self::Never => "never",
        }
    }
}

/// Flags that every command takes.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Global options")]
pub struct Globals {
    /// Print JSON; errors as JSON on stderr
    #[arg(long, global = true)]
    pub json: bool,
    /// Print ids only
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Colour output
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
    /// Log steps and times on stderr [env: FAIRWAY_LOG]
    #[arg(long, global = true)]
    pub debug: bool,
    /// Project root; default: search upwards for .fairway.toml
    #[arg(long, global = true, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Act in this role [env: FAIRWAY_ROLE]
    #[arg(id = "acting_role", long = "as", global = true, value_name = "ROLE", value_parser = values::role)]
    pub role: Option<Role>,
    /// Act as this session [env: FAIRWAY_SESSION_ID]
    #[arg(id = "acting_session", long = "session", global = true, value_name = "ID", value_parser = values::acting_session)]
    pub session: Option<RoutingKey>,
    /// Idempotency key: a repeat gets the first answer
    #[arg(id = REQUEST_ID, long = "request-id", global = true, value_name = "ID", value_parser = values::request_id)]
    pub request_id: Option<String>,
    /// Refuse if the task's claim has another epoch
    #[arg(long, global = true, value_name = "N")]
    pub epoch: Option<i64>,
}
