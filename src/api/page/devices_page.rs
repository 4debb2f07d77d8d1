//! The pages of devices: the list of the paired ones with their revocation, and the forms, links and codes of pairing.

use std::sync::Arc;

use axum::response::Response;

use super::access::Access;
use super::command_html::hidden;
use super::device_keys::DeviceKey;
use super::document::Done;
use super::form::Form;
use super::html::Html;
use super::labels::{time, with_ages};
use super::origin::Site;
use super::page_layout::{self, begin};
use super::response::{HTML, done, file};
use crate::api::error::ApiError;
use crate::api::state;
use fairway_actions::upkeep::devices;
use fairway_core::domain::device::{DeviceAccess, DeviceWay, MAX_WRONG_CODES, PAIRING_LIFETIME};
use fairway_core::domain::id::DeviceName;
use fairway_core::render::QrCode;
use fairway_core::wire::DeviceView;

/// Shows the paired devices. `own` is the device that has sent the request; `None` for a browser that is not paired.
pub(super) async fn list(site: &Arc<Site>, own: Option<DeviceKey>) -> Result<Response, ApiError> {
    let (devices, now) =
        state::run_blocking_as(site.feed.factory(), |app| Ok((devices::list(app)?, app.env.now()))).await?;
    let own = own.map(|device| device.name);
    Ok(file(HTML, with_ages(&devices_html(&devices, own.as_deref()), now)))
}

/// Revokes the device that the form names, and the devices that were paired from it.
pub(super) async fn revoke(site: &Arc<Site>, form: &Form) -> Result<Response, ApiError> {
    let name = DeviceName::parse(form.get("revoke")).map_err(anyhow::Error::from)?;
    let command = format!("fairway device revoke {name}");
    let answer = state::run_blocking_as(site.feed.factory(), move |app| devices::revoke(app, &name)).await?;
    Ok(done(&Done { answer, command, undo: None }, "devices", false))
}

fn devices_html(devices: &[DeviceView], own: Option<&str>) -> String {
    let mut html = begin("paired devices", None);
    html.markup("<header>");
    page_layout::navigation(&mut html, None);
    html.markup("</header><main id=\"board\" class=\"devices\"><h1>Paired devices</h1>");
    if devices.is_empty() {
        html.markup("<p class=\"none\">no device is paired</p>");
    }
    html.markup("<ul role=\"list\">");
    for device in devices {
        draw_device(&mut html, device, own == Some(device.name.as_str()));
    }
    html.markup("</ul>");
    page_layout::end(html).into_string()
}

fn draw_device(html: &mut Html, device: &DeviceView, is_own: bool) {
    html.markup("<li><h2>").text(&device.name);
    html.markup(if is_own { " (this browser)</h2><p>" } else { "</h2><p>" });
    html.markup(if device.access == DeviceAccess::Full { "full access" } else { "may only look" });
    html.markup(if device.way == DeviceWay::Local { ", on this machine" } else { ", in the network" });
    if let Some(from) = &device.paired_from {
        html.markup(", paired from ").text(from);
    }
    html.markup("; last here ");
    time(html, Some(&device.seen_at.to_string()));
    html.markup(" ago; paired until ").text(&device.expires_at.to_local()).markup("</p>");
    html.markup("<details><summary").attribute("aria-label", &format!("revoke… {}", device.name));
    html.markup(">revoke…</summary><form method=\"post\" action=\"devices\">");
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

/// What another device needs to be paired.
#[derive(Debug)]
pub(super) struct PairingView {
    /// The one in the network comes first.
    pub(super) links: Vec<String>,
    /// Whether other machines can open the first link.
    pub(super) is_in_network: bool,
    /// The code as people read it.
    pub(super) code: String,
    pub(super) access: Access,
    /// When the pairing of the device ends, as people read it.
    pub(super) expires_at: String,
    pub(super) fingerprint: Option<String>,
}

/// The page on which a person types a pairing code. It does not reveal whether `code` is valid.
pub(super) fn pair_form(code: &str) -> String {
    let mut html = begin("pair this browser", None);
    html.markup(
        "<main id=\"board\" class=\"pair\"><h1>Pair this browser</h1><form method=\"post\" action=\"pair\">\
         <p><label>Code <input name=\"code\" autocomplete=\"off\" autocapitalize=\"characters\" spellcheck=\"false\" required",
    );
    html.attribute("value", code).markup(
        "></label></p><p><label>Name of this device <input name=\"name\" autocomplete=\"off\" maxlength=\"64\" \
         placeholder=\"phone\"></label></p><p><button>pair this browser</button></p></form>\
         <p>A code comes from <code>fairway device pair</code>, or from the page of a paired device.</p>",
    );
    page_layout::end(html).into_string()
}

/// The page that shows the links and the code with which another device can be paired.
pub(super) fn pairing_page(view: &PairingView) -> String {
    let mut html = begin("pair another device", None);
    html.markup("<main id=\"board\" class=\"pair\"><h1>Pair another device</h1><p>");
    html.markup(match view.access {
        Access::Full => "The browser that opens the link can answer and stop agents as you.",
        Access::ReadOnly => "The browser that opens the link can look.",
    });
    html.markup(" It stays paired until ").text(&view.expires_at).markup(". The link is valid once, for ");
    html.text(&(PAIRING_LIFETIME.as_secs() / 60).to_string()).markup(" minutes.</p>");
    let code = view.links.first().filter(|_| view.is_in_network).and_then(|link| QrCode::new(link));
    match code {
        Some(code) => qr_code(&mut html, &code),
        None => {
            html.markup(
                "<p class=\"warning\">Other devices cannot open this address. Start the server with \
                 <code>--listen IP</code>, or forward the port by SSH.</p>",
            );
        }
    }
    for link in &view.links {
        html.markup("<p><code class=\"address\">").text(link).markup("</code></p>");
    }
    html.markup("<p>Or open <code>/pair</code> there and type the code <strong class=\"code\">").text(&view.code);
    html.markup("</strong>. After ").text(&MAX_WRONG_CODES.to_string()).markup(" wrong codes it is valid no more.</p>");
    certificate(&mut html, view.fingerprint.as_deref());
    html.markup("<p class=\"way\"><a href=\"./\">to the board</a></p>");
    page_layout::end(html).into_string()
}

fn qr_code(html: &mut Html, code: &QrCode) {
    let size = code.size();
    html.markup("<svg class=\"qr\" role=\"img\" aria-label=\"QR code of the link\" shape-rendering=\"crispEdges\"");
    html.attribute("viewBox", &format!("0 0 {size} {size}")).markup("><path fill=\"#000\"");
    html.attribute("d", &code.svg_path()).markup("></path></svg>");
}

fn certificate(html: &mut Html, fingerprint: Option<&str>) {
    if let Some(fingerprint) = fingerprint {
        html.markup(
            "<p>The server's certificate is its own, so that a browser warns once. Its SHA-256 fingerprint must be \
             <code class=\"address\">",
        );
        html.text(fingerprint).markup("</code></p>");
    }
}
