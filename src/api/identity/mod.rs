//! Who runtimes are and what they may use: kept in memory, and nowhere else. Values are zeroed when they are forgotten and
//! never shown.

mod credentials;
mod store;

pub(super) use credentials::Identity;
pub(super) use store::IdentityStore;
