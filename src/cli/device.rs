//! `fairway device …`

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::Result;
use clap::Subcommand;

use crate::cli::age::{due, rough};
use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::values;
use fairway_actions::upkeep::devices::{self, PairingRequest};
use fairway_core::domain::device::{DeviceAccess, MAX_WRONG_CODES};
use fairway_core::domain::id::DeviceName;
use fairway_core::env::Timestamp;
use fairway_core::render::{QrCode, Table, escape_line};
use fairway_core::wire::{DevicePairView, DeviceView};

/// Pair browsers with the page, list and revoke them
#[derive(Debug, Subcommand)]
#[command(after_help = "\
fairway device pair --name phone
fairway device revoke phone")]
#[command(defer = true)]
pub enum Verb {
    Pair(PairArgs),
    #[command(visible_alias = "ls")]
    List(ListArgs),
    Revoke(RevokeArgs),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Pair(args) => args.run(ctx),
            Self::List(args) => args.run(ctx),
            Self::Revoke(args) => ctx.answer(&devices::revoke(&ctx.app()?, &args.device)?),
        }
    }
}

/// Pair a browser with the page, so that it stays known
///
/// Prints a link, its QR code where the server is in the network, and a code for /pair. Each is valid for five minutes and
/// pairs one browser, whose key outlives the server. Only digests of codes and keys are kept. A server must run: fairway serve
/// --http. Refused inside a session.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway device pair --name phone
fairway device pair --read-only --expires 30d")]
pub struct PairArgs {
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

impl PairArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let access = if self.read_only { DeviceAccess::ReadOnly } else { DeviceAccess::Full };
        let request = PairingRequest { access, name: self.name, lifetime: self.expires, paired_from: None };
        let view = devices::pair(&ctx.app()?, &request)?;
        let links = || view.links.clone();
        ctx.show(&view, links, || text(&view, ctx))
    }
}

fn text(view: &DevicePairView, ctx: &Context) -> String {
    let mut text = String::new();
    let code = view.links.first().filter(|_| view.is_in_network).and_then(|link| QrCode::new(link));
    if let Some(code) = &code {
        text.push_str(&code.terminal(ctx.out.style.is_on()));
    }
    for link in &view.links {
        let _ = writeln!(text, "open: {}", escape_line(link));
    }
    let _ = writeln!(text, "or open /pair there and type: {}", view.code);
    if let Some(fingerprint) = &view.fingerprint {
        let _ = writeln!(text, "SHA-256 of the certificate: {fingerprint}");
    }
    let _ = writeln!(
        text,
        "one browser, {}, until {}; the code is valid {} and for {MAX_WRONG_CODES} tries",
        if view.access == DeviceAccess::Full { "with full access" } else { "to look only" },
        view.expires_at.to_local(),
        due(view.valid_until, ctx.env.now()).replace("in ", "for "),
    );
    if code.is_none() {
        text.push_str(
            "other machines cannot open this: fairway serve --http PORT --listen IP:PORT, or forward the port by SSH\n",
        );
    }
    text
}

/// List the browsers that are paired with the page
///
/// WAY = local: the key is valid on this machine alone, tunnels included; network: at the server's address in the network
/// alone. FROM is the device whose page made its code. SEEN is the time since its last request, to ten minutes.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway device list")]
pub struct ListArgs {}

impl ListArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let devices = devices::list(&ctx.app()?)?;
        let names = || devices.iter().map(|device| device.name.clone()).collect();
        ctx.show(&devices, names, || {
            if devices.is_empty() {
                return "no browser is paired: fairway device pair\n".to_owned();
            }
            table(&devices, ctx.env.now()).coloured(ctx.out.width, ctx.out.style)
        })
    }
}

fn table(devices: &[DeviceView], now: Timestamp) -> Table {
    let mut table = Table::new(&["name", "access", "way", "paired", "from", "ends", "seen"]).with_expendable(&["from"]);
    for device in devices {
        table.row([
            device.name.clone(),
            device.access.to_string(),
            device.way.to_string(),
            format!("{} ago", rough(now.since(device.paired_at))),
            device.paired_from.clone().unwrap_or_else(|| "-".to_owned()),
            due(device.expires_at, now),
            format!("{} ago", rough(now.since(device.seen_at))),
        ]);
    }
    table
}

/// Revoke a paired browser
///
/// It is refused from its next request on, and what it listens to ends at once. The devices that were paired from its page are revoked
/// with it. Refused inside a session.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway device revoke phone")]
pub struct RevokeArgs {
    /// Name, as in device list
    #[arg(value_parser = values::device)]
    device: DeviceName,
}
