//! The page of the paired devices: who they are, and how one is revoked.

use std::sync::Arc;

use axum::response::Response;

use super::{
    age_html::{time, with_ages},
    command_html::hidden,
    device_keys::DeviceKey,
    document,
    form::Form,
    html::Html,
    origin::Site,
    response::{HTML, file},
    shell::{self, begin},
};
use crate::{
    actions::upkeep::devices,
    api::{error::ApiError, state},
    domain::id::DeviceName,
    wire::DeviceView,
};

/// The devices. `own` is the one that asks.
pub(super) async fn list(site: &Arc<Site>, own: Option<DeviceKey>) -> Result<Response, ApiError> {
    let (devices, now) =
        state::run_blocking_as(site.feed.factory(), |app| Ok((devices::list(app)?, app.env.now()))).await?;
    let own = own.map(|device| device.name);
    Ok(file(HTML, with_ages(&page(&devices, own.as_deref()), now)))
}

/// Revokes a device, and those that were paired from it.
pub(super) async fn revoke(site: &Arc<Site>, form: &Form) -> Result<Response, ApiError> {
    let name = DeviceName::parse(form.get("revoke")).map_err(anyhow::Error::from)?;
    let command = format!("fairway device revoke {name}");
    let answer = state::run_blocking_as(site.feed.factory(), move |app| devices::revoke(app, &name)).await?;
    Ok(file(HTML, document::result(&answer, &command, "/devices")))
}

fn page(devices: &[DeviceView], own: Option<&str>) -> String {
    let mut html = begin("paired devices", None);
    html.markup("<main id=\"board\" class=\"devices\"><h1>Paired devices</h1>");
    if devices.is_empty() {
        html.markup("<p class=\"none\">no device is paired</p>");
    }
    html.markup("<ul role=\"list\">");
    for device in devices {
        draw(&mut html, device, own == Some(device.name.as_str()));
    }
    html.markup("</ul><p class=\"way\"><a href=\"/\">to the board</a></p>");
    shell::end(html).into_string()
}

fn draw(html: &mut Html, device: &DeviceView, is_own: bool) {
    html.markup("<li><h2>").text(&device.name);
    html.markup(if is_own { " (this browser)</h2><p>" } else { "</h2><p>" });
    html.markup(if device.access == "full" { "full access" } else { "may only look" });
    html.markup(if device.way == "local" { ", on this machine" } else { ", in the network" });
    if let Some(from) = &device.paired_from {
        html.markup(", paired from ").text(from);
    }
    html.markup("; last here ");
    time(html, Some(&device.seen_at.to_string()));
    html.markup(" ago; paired until ").text(&device.expires_at.to_local()).markup("</p>");
    html.markup("<details><summary").attribute("aria-label", &format!("revoke… {}", device.name));
    html.markup(">revoke…</summary><form method=\"post\" action=\"/devices\">");
    hidden(html, "revoke", &device.name);
    html.markup("<p class=\"question\">");
    html.markup(if is_own {
        "This browser is refused from then on, and so are the devices that were paired from it."
    } else {
        "It is refused from then on, and so are the devices that were paired from it."
    });
    html.markup("</p><p><code>fairway device revoke ").text(&device.name).markup("</code></p>");
    html.markup("<button class=\"danger\"").attribute("aria-label", &format!("revoke {}", device.name));
    html.markup(">revoke</button></form></details></li>");
}
