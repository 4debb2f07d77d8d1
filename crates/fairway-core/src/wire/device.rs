//! Paired devices as JSON.

use serde::Serialize;

use crate::domain::device::{DeviceAccess, DeviceWay};
use crate::env::Timestamp;

/// A browser that is paired with the page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct DeviceView {
    /// Its name.
    pub name: String,
    /// Its rights: it acts as the person who started the server, or looks.
    pub access: DeviceAccess,
    /// Where its key is valid: on this machine, tunnels included, or at the server's address in the network.
    pub way: DeviceWay,
    /// When it was paired.
    pub paired_at: Timestamp,
    /// The device whose page made its code; null for the terminal.
    pub paired_from: Option<String>,
    /// When it ends.
    pub expires_at: Timestamp,
    /// When it asked for something last, to ten minutes.
    pub seen_at: Timestamp,
}

/// A code that pairs one browser.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct DevicePairView {
    /// The links with the code, the one in the network first.
    pub links: Vec<String>,
    #[serde(skip)]
    pub is_in_network: bool,
    /// The code that can be typed in place of a link.
    pub code: String,
    /// The rights of the device: it acts as the person who started the server, or looks.
    pub access: DeviceAccess,
    /// The device's name; null if the device itself says one.
    pub name: Option<String>,
    /// Until when the code is valid.
    pub valid_until: Timestamp,
    /// When the device ends.
    pub expires_at: Timestamp,
    /// The SHA-256 fingerprint of the server's certificate; null without HTTPS.
    pub fingerprint: Option<String>,
}

/// The answer to `device revoke`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct DeviceRevokedView {
    /// The name of the device.
    pub name: String,
    /// The names of the devices that are revoked now: it, and those that were paired from it.
    pub revoked: Vec<String>,
}
