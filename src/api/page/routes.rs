//! The page's routes. A request is admitted by the key in its cookie; one that changes something must also have full access and
//! come from the page itself.

use std::sync::Arc;

use axum::Json;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;

use super::access::Access;
use super::board_composer::ComposedBoard;
use super::device_keys::DeviceKey;
use super::devices_page::{self, PairingView};
use super::document::{self, Done};
use super::form::Form;
use super::origin::{Grant, PageAddress, Site};
use super::page_command::PageCommand;
use super::page_layout::{PageFrame, PageName};
use super::response::{self, HTML, done, file};
use super::shared_board::Content;
use super::task_filter::TasksQuery;
use super::{answer_page, lane_page, live_screen, review_page, search_page, tasks_page, usage_page};
use crate::api::auth::single_header;
use crate::api::body::query;
use crate::api::error::ApiError;
use crate::api::{sse, state};
use fairway_actions::queue::task::undo;
use fairway_actions::upkeep::devices::{self, PairingRequest};
use fairway_core::domain::device::{self, DEFAULT_DEVICE_LIFETIME, DeviceAccess, kind_of, shown_code};
use fairway_core::domain::id::DeviceName;
use fairway_core::domain::{Actor, LaneName, Refusal};
use fairway_core::wire::ErrorDocument;

/// Path, content type and text of the files.
const FILES: &[(&str, &str, &str)] = &[
    ("/page.css", "text/css; charset=utf-8", include_str!("page.css")),
    ("/icon.svg", "image/svg+xml", include_str!("icon.svg")),
    ("/manifest.json", "application/manifest+json", include_str!("manifest.json")),
    ("/ages.js", SCRIPT, include_str!("ages.js")),
    ("/clock.js", SCRIPT, include_str!("clock.js")),
    ("/drag.js", SCRIPT, include_str!("drag.js")),
    ("/forms.js", SCRIPT, include_str!("forms.js")),
    ("/keys.js", SCRIPT, include_str!("keys.js")),
    ("/live.js", SCRIPT, include_str!("live.js")),
    ("/open.js", SCRIPT, include_str!("open.js")),
    ("/page.js", SCRIPT, include_str!("page.js")),
    ("/patch.js", SCRIPT, include_str!("patch.js")),
    ("/pages.js", SCRIPT, include_str!("pages.js")),
];

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The methods of routes that change nothing, files included.
const READ: &str = "GET,HEAD";
/// The address of the board on every page. All addresses are relative: a proxy may show the page below a path of its own.
const BOARD: &str = "./";

/// The routes besides the files, each with its methods.
const ROUTES: &[(&str, &str)] = &[
    ("/", READ),
    ("/lane", READ),
    ("/tasks", READ),
    ("/review", READ),
    ("/usage", READ),
    ("/search", READ),
    ("/open", "GET"),
    ("/events", READ),
    ("/pair", "GET,POST"),
    ("/answer", "GET,POST"),
    ("/devices", "GET,POST"),
    ("/act", "POST"),
    ("/device", "POST"),
];

#[derive(Debug, Deserialize)]
struct CodeQuery {
    code: String,
}

#[derive(Debug, Deserialize)]
struct SinceQuery {
    #[serde(default)]
    since: String,
    /// `yes`: only the proofs that the page is current, without the board.
    #[serde(default)]
    beats: String,
    /// The lane whose screens are sent.
    #[serde(default)]
    lane: String,
}

fn methods_of(path: &str) -> Option<&'static str> {
    let route = ROUTES.iter().find(|(known, _)| *known == path).map(|(_, methods)| *methods);
    route.or_else(|| FILES.iter().any(|(known, ..)| *known == path).then_some(READ))
}

/// Answers a request for the page. `address` is `None` when the header `Host` of the request is wrong.
pub(in crate::api) async fn respond(request: Request, address: Option<PageAddress>) -> Response {
    let wants_json = single_header(request.headers(), header::ACCEPT) == Some("application/json");
    // A link of another page led here: the browser held the cookie back, and sends it when the page itself asks.
    let is_first_visit = request.method() == Method::GET
        && request.uri().path() == "/"
        && single_header(request.headers(), header::HeaderName::from_static("sec-fetch-site")) == Some("cross-site");
    let path = request.uri().path().to_owned();
    let mut response = route(request, address, wants_json).await.unwrap_or_else(|error| {
        let is_retried = is_first_visit && error.status == StatusCode::UNAUTHORIZED;
        let mut response = if wants_json {
            (error.status, Json(json!(ErrorDocument { error: &error.failure }))).into_response()
        } else {
            (error.status, [(header::CONTENT_TYPE, HTML)], document::failure(&error.failure)).into_response()
        };
        if let Some(methods) = methods_of(&path).filter(|_| error.status == StatusCode::METHOD_NOT_ALLOWED) {
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(methods));
        }
        if is_retried {
            response.headers_mut().insert(header::REFRESH, HeaderValue::from_static("0;url=./"));
        }
        response
    });
    response::protect(response.headers_mut());
    response
}

async fn route(request: Request, address: Option<PageAddress>, wants_json: bool) -> Result<Response, ApiError> {
    let refused = |why: &str| ApiError::unauthorized(StatusCode::FORBIDDEN, why);
    let address = address.ok_or_else(|| {
        refused("invalid Host header: must be the address of the page").with_hint(
            "open the page: fairway serve --open; or let the proxy pass Host on, and name it in serve.hosts: fairway config edit",
        )
    })?;
    let site = Site::current().ok_or_else(|| ApiError::busy("the server is shutting down"))?;
    let (path, method) = (request.uri().path().to_owned(), request.method().clone());
    let methods = methods_of(&path).ok_or_else(|| ApiError::unknown_page(&path))?;
    if !methods.split(',').any(|known| known == method.as_str()) {
        return Err(ApiError::method_not_allowed(method.as_str(), &path));
    }
    if let Some((_, kind, text)) = FILES.iter().find(|(known, ..)| *known == path) {
        return Ok(file(kind, *text));
    }
    match (path.as_str(), &method) {
        ("/open", _) => return open(&site, &address, &request),
        ("/pair", &Method::GET) => {
            return Ok(file(HTML, devices_page::pair_form(Form::of_query(request.uri()).get("code").trim())));
        }
        ("/pair", _) => return pair(&site, &address, request).await,
        // The token in it is its key, whatever the browser is.
        ("/answer", &Method::GET) => return answer_page::show(&site, &address, &Form::of_query(request.uri())).await,
        ("/answer", _) => return answer_page::answer(&site, &address, request, wants_json).await,
        _ => {}
    }
    let grant = site.grant(&address, request.headers()).ok_or_else(ApiError::no_page_access)?;
    let access = grant.access;
    match path.as_str() {
        "/events" => events(&site, &request, grant),
        "/" => {
            let (board, frame) = site.feed.board().await?;
            let html = document::board(&site.feed, &frame, &board.project, board.now, access);
            Ok(file(HTML, html))
        }
        "/lane" => page(&site, Form::of_query(request.uri()), access, PageName::Lane).await,
        "/tasks" => page(&site, Form::of_query(request.uri()), access, PageName::Tasks).await,
        "/review" => page(&site, Form::of_query(request.uri()), access, PageName::Review).await,
        "/usage" => page(&site, Form::of_query(request.uri()), access, PageName::Usage).await,
        "/search" => page(&site, Form::of_query(request.uri()), access, PageName::Search).await,
        "/devices" if method == Method::GET => {
            if access != Access::Full {
                return Err(refused("this browser may only look"));
            }
            devices_page::list(&site, grant.device).await
        }
        changing => {
            check_origin(&address, request.headers())?;
            if access != Access::Full {
                return Err(refused("this browser may only look"));
            }
            let form = Form::read(request).await?;
            if changing == "/device" {
                return device(&site, &form, grant.device).await;
            }
            if changing == "/devices" {
                return devices_page::revoke(&site, &form).await;
            }
            let back = back(&form).to_owned();
            Ok(done(&act(&site, form).await?, &back, wants_json))
        }
    }
}

/// Draws a page other than the board, from the store as it is now.
async fn page(site: &Site, query: Form, access: Access, name: PageName) -> Result<Response, ApiError> {
    let (board, _) = site.feed.board().await?;
    let frame = PageFrame { name, project: board.project, seq: board.seq, access, now: board.now };
    let html = state::run_blocking_as(site.feed.factory(), move |app| match name {
        PageName::Lane => lane_page::page(app, &frame, &query),
        PageName::Tasks => tasks_page::page(app, &frame, &TasksQuery::new(query)),
        PageName::Review => review_page::page(app, &frame, &query),
        PageName::Usage => usage_page::page(app, &frame, &query),
        PageName::Search | PageName::Board => search_page::page(app, &frame, &query),
    });
    Ok(file(HTML, html.await?))
}

/// The address to which a person returns after a command: the one that the form names, if it is of this site, else the board.
fn back(form: &Form) -> &str {
    let is_here = |address: &&str| {
        let page = address.split(['?', '#']).next().unwrap_or_default();
        page == BOARD || !page.is_empty() && ROUTES.iter().any(|(path, _)| path.strip_prefix('/') == Some(page))
    };
    Some(form.get("back")).filter(is_here).unwrap_or(BOARD)
}

/// Exchanges a code for a cookie. A prefetch does not use the code up.
fn open(site: &Site, address: &PageAddress, request: &Request) -> Result<Response, ApiError> {
    if request.headers().contains_key("sec-purpose") {
        return Err(ApiError::unauthorized(StatusCode::FORBIDDEN, "a prefetch opens no page"));
    }
    let CodeQuery { code } = query(request)?;
    let key = site.exchange(address, &code)?.ok_or_else(ApiError::no_page_access)?;
    let cookie = format!("{}={key}{}", Site::cookie_name(address), address.cookie_attributes());
    Ok((StatusCode::SEE_OTHER, [(header::LOCATION, BOARD), (header::SET_COOKIE, cookie.as_str())]).into_response())
}

/// Exchanges a code for a cookie that outlives the server. The page's own form must ask for it, so that a link which
/// another site has opened uses no code up.
async fn pair(site: &Arc<Site>, address: &PageAddress, request: Request) -> Result<Response, ApiError> {
    check_origin(address, request.headers())?;
    if !address.is_of_this_user() {
        return Err(anyhow::Error::from(device::pairing_refused()).into());
    }
    let agent = single_header(request.headers(), header::USER_AGENT).unwrap_or_default();
    let (kind, way) = (kind_of(agent), address.way);
    let form = Form::read(request).await?;
    let name = form.written("name").map(DeviceName::parse).transpose().map_err(anyhow::Error::from)?;
    let (code, here) = (form.get("code").to_owned(), Arc::clone(site));
    let paired =
        tokio::task::spawn_blocking(move || here.devices.pair(here.host(), &code, name.as_ref(), kind, way)).await;
    let paired = paired.map_err(|_| ApiError::internal("internal error: the pairing panicked"))??;
    let (name, attributes) = (site.device_cookie_name(), address.cookie_attributes());
    let cookie = format!("{name}={}; Max-Age={}{attributes}", paired.key, paired.lifetime.as_secs());
    Ok((StatusCode::SEE_OTHER, [(header::LOCATION, BOARD), (header::SET_COOKIE, cookie.as_str())]).into_response())
}

fn events(site: &Arc<Site>, request: &Request, grant: Grant) -> Result<Response, ApiError> {
    let SinceQuery { since, beats, lane } = query(request)?;
    let lane = Some(lane).filter(|lane| !lane.is_empty()).map(|lane| LaneName::parse(&lane)).transpose();
    let lane = lane.map_err(anyhow::Error::from)?;
    if request.method() == Method::HEAD {
        return Ok(sse::head());
    }
    let last = request.headers().get("last-event-id").and_then(|value| value.to_str().ok());
    let version = site.feed.version(last.unwrap_or(&since));
    let (response, items) = if accepts_gzip(request.headers()) { sse::compressed_stream() } else { sse::stream() };
    let content = if beats == "yes" { Content::Beats } else { Content::Board };
    let items = Arc::new(items);
    let Grant { access, device } = grant;
    if let Some(lane) = lane {
        let screens = live_screen::follow(Arc::clone(&site.feed), Arc::clone(&items), lane);
        tokio::spawn(while_paired(Arc::clone(site), device.clone(), screens));
    }
    let board = Arc::clone(&site.feed).serve(items, version, access, content);
    tokio::spawn(while_paired(Arc::clone(site), device, board));
    Ok(response)
}

/// Runs a stream until the device is revoked or expires. Without a device it lasts as long as the server.
async fn while_paired(site: Arc<Site>, device: Option<DeviceKey>, stream: impl Future<Output = ()>) {
    let Some(device) = device else { return stream.await };
    tokio::select! {
        () = stream => {}
        () = site.devices.ended(&device) => {}
    }
}

/// Whether the client reads gzip.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|coding| coding.trim() == "gzip")
}

/// Refuses a change that another site asks for. Browsers name the origin of every form and script that posts.
fn check_origin(address: &PageAddress, headers: &HeaderMap) -> Result<(), ApiError> {
    let fetch_site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    let is_own = single_header(headers, header::ORIGIN) == Some(address.origin.as_str())
        && fetch_site.is_none_or(|site| site == b"same-origin");
    let why = "a change must come from the page itself (header Origin)";
    if is_own { Ok(()) } else { Err(ApiError::unauthorized(StatusCode::FORBIDDEN, why)) }
}

/// Runs a command if the board still offers it: the item that the person saw may be about an older claim.
async fn act(site: &Site, form: Form) -> Result<Done, ApiError> {
    let words = form.get("command").to_owned();
    let command = PageCommand::parse(&words)
        .ok_or_else(|| ApiError::usage("the page cannot do this command: use the command line"))?;
    if command.question().is_some() && form.get("confirm") != "yes" {
        return Err(anyhow::Error::from(Refusal::NotConfirmed).into());
    }
    let epoch = form.written("epoch").map(str::parse::<i64>).transpose();
    let epoch = epoch.map_err(|_| ApiError::usage("invalid epoch: must be a number"))?;
    check_offered(site, &form, &words, &command, epoch).await?;
    let (factory, hooks) = (site.feed.factory(), site.hooks);
    let done = state::run_blocking_as(factory, move |app| {
        let actor = Actor { epoch: epoch.or(app.actor.epoch), ..app.actor.clone() };
        let answer = command.run(&app.with_actor(actor, None), &form, hooks)?;
        let undo = command.undoable().map(|task| undo::offer(app, task));
        Ok(Done { answer, command: command.line(&words, &form), undo: undo.and_then(Result::ok).flatten() })
    });
    done.await
}

async fn check_offered(
    site: &Site,
    form: &Form,
    words: &str,
    command: &PageCommand,
    epoch: Option<i64>,
) -> Result<(), ApiError> {
    let item = form.written("item");
    match (item, command) {
        // The store says whether they are possible.
        (None, PageCommand::Task(_) | PageCommand::Review(_)) => return Ok(()),
        // They act on the claim of this epoch or on none.
        (None, PageCommand::Release(_) | PageCommand::Unblock(_) | PageCommand::Done(_)) if epoch.is_some() => {
            return Ok(());
        }
        _ => {}
    }
    let (board, _) = site.feed.board().await?;
    let is_offered = is_offered(&board, item, words, command);
    let item = item.unwrap_or(words).to_owned();
    if is_offered { Ok(()) } else { Err(anyhow::Error::from(Refusal::not_found("item of the board", item)).into()) }
}

fn is_offered(board: &ComposedBoard, item: Option<&str>, words: &str, command: &PageCommand) -> bool {
    match (item, command) {
        (Some(item), _) => {
            let has = |commands: &[String]| commands.iter().any(|known| known == words);
            board.items.iter().any(|one| one.id == item && has(&one.commands))
        }
        (None, PageCommand::Prompt(session) | PageCommand::Stop(session)) => {
            board.sessions.iter().any(|id| id == session.as_str())
        }
        (None, _) => false,
    }
}

/// Makes a code with which another device can be paired. `from` is the device that asks: the new pairing ends when the
/// pairing of that device ends, or earlier.
async fn device(site: &Site, form: &Form, from: Option<DeviceKey>) -> Result<Response, ApiError> {
    let access = match form.get("access") {
        "full" => DeviceAccess::Full,
        "read-only" => DeviceAccess::ReadOnly,
        _ => return Err(ApiError::usage("invalid access: must be full or read-only")),
    };
    let name = form.written("name").map(DeviceName::parse).transpose().map_err(anyhow::Error::from)?;
    let paired_from = from.map(|device| device.name);
    let request = PairingRequest { access, name, lifetime: DEFAULT_DEVICE_LIFETIME, paired_from };
    let host = site.host().to_owned();
    let code = state::run_blocking_as(site.feed.factory(), move |app| devices::make_code(app, &host, &request)).await?;
    let network = site.network_origin();
    let origins = network.iter().cloned().chain([site.origin()]);
    let view = PairingView {
        links: origins.map(|origin| devices::pairing_link(&origin, &code.link)).collect(),
        is_in_network: network.is_some(),
        code: shown_code(&code.typed),
        access: access.into(),
        expires_at: code.expires_at.to_local(),
        fingerprint: site.fingerprint.clone(),
    };
    Ok(file(HTML, devices_page::pairing_page(&view)))
}
