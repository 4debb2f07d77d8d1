//! `fairway device pair`

use std::{fmt::Write as _, time::Duration};

use anyhow::Result;

use super::values;
use crate::{
    actions::upkeep::devices::{self, PairingRequest},
    cli::{age::due, context::Context, exit::Exit},
    domain::{
        device::{DeviceAccess, MAX_WRONG_CODES},
        id::DeviceName,
    },
    render::{QrCode, escape_line},
    wire::DevicePairView,
};

/// Pair a browser with the page, so that it stays known
///
/// Its key outlives the server. Prints a link, its QR code where the server is in the network, and a code that can be typed at /pair instead. Each is valid
/// for five minutes and pairs one browser, which asks for a name and gets a key in a cookie. Only digests of codes and keys are kept,
/// in .fairway/devices.json. A server must run: fairway serve --http. Refused inside a session.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Let the browser only look
    #[arg(long)]
    read_only: bool,
    /// Time after which the device ends, at most 400d
    #[arg(long, value_name = "DURATION", value_parser = values::device_lifetime, default_value = "90d")]
    expires: Duration,
    /// Name of the device; default: what the browser says
    #[arg(long, value_parser = values::device)]
    name: Option<DeviceName>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let access = if self.read_only { DeviceAccess::ReadOnly } else { DeviceAccess::Full };
        let request = PairingRequest { access, name: self.name, lifetime: self.expires, paired_from: None };
        let view = devices::pair(&ctx.app()?, &request)?;
        let links = || view.links.clone();
        ctx.show(&view, links, || words(&view, ctx))
    }
}

fn words(view: &DevicePairView, ctx: &Context) -> String {
    let mut words = String::new();
    let code = view.links.first().filter(|_| view.is_in_network).and_then(|link| QrCode::new(link));
    if let Some(code) = &code {
        words.push_str(&code.terminal(ctx.out.style.is_on()));
    }
    for link in &view.links {
        let _ = writeln!(words, "open: {}", escape_line(link));
    }
    let _ = writeln!(words, "or open /pair there and type: {}", view.code);
    if let Some(fingerprint) = &view.fingerprint {
        let _ = writeln!(words, "SHA-256 of the certificate: {fingerprint}");
    }
    let _ = writeln!(
        words,
        "one browser, {}, until {}; the code is valid {} and for {MAX_WRONG_CODES} tries",
        if view.access == DeviceAccess::Full.as_str() { "with full access" } else { "to look only" },
        view.expires_at.to_local(),
        due(view.valid_until, ctx.env.now()).replace("in ", "for "),
    );
    if code.is_none() {
        words.push_str(
            "other machines cannot open this: fairway serve --http PORT --listen IP:PORT, or forward the port by SSH\n",
        );
    }
    words
}
