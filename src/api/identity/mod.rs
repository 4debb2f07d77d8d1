//! Identities and credentials of runtimes, kept in memory only. Values are zeroed when they are dropped and are never shown.

mod credentials;
mod store;

pub(super) use credentials::Identity;
pub(super) use store::IdentityStore;
