//! Who runtimes are and what they may use: kept in memory, and nowhere else. Values are zeroed when they are forgotten and
//! never shown.

mod keeper;
mod refresh;
mod secret;

pub(super) use keeper::Keeper;
pub(super) use refresh::take;
pub(super) use secret::Identity;
