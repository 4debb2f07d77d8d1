//! `fairway device list`

use anyhow::Result;

use crate::{
    actions::upkeep::devices,
    cli::{
        age::{due, rough},
        context::Context,
        exit::Exit,
    },
    env::Timestamp,
    render::Table,
    wire::DeviceView,
};

/// List the browsers that are paired with the page
///
/// WAY = local: the key of the device is valid on this machine alone, tunnels included; network: at the server's address in the network
/// alone. FROM is the device whose page made its code. SEEN is the time since its last request, to ten minutes.
#[derive(Debug, clap::Args)]
pub struct Args {}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
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
            device.access.to_owned(),
            device.way.to_owned(),
            format!("{} ago", rough(now.since(device.paired_at))),
            device.paired_from.clone().unwrap_or_else(|| "-".to_owned()),
            due(device.expires_at, now),
            format!("{} ago", rough(now.since(device.seen_at))),
        ]);
    }
    table
}
