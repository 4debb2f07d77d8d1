//! The page's routes. A request is admitted by the key in its cookie; one that changes something must also have full access and
//! come from the page itself.

use std::sync::Arc;

use axum::{
    Json,
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use serde_json::json;

use super::{
    access::Access,
    act::PageCommand,
    composer::ComposedBoard,
    document, headers,
    origin::{PageAddress, Site},
};
use crate::{
    actions::Answer,
    api::{
        auth::single_header,
        body::{RequestBody, query},
        error::ApiError,
        sse, state,
    },
    domain::Refusal,
    wire::ErrorDocument,
};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
const CLOCK: &str = include_str!("clock.js");
const ICON: &str = include_str!("icon.svg");

const HTML: &str = "text/html; charset=utf-8";

/// The routes, each with its methods.
const ROUTES: &[(&str, &str)] = &[
    ("/", "GET,HEAD"),
    ("/open", "GET"),
    ("/events", "GET,HEAD"),
    ("/act", "POST"),
    ("/device", "POST"),
    ("/page.css", "GET,HEAD"),
    ("/page.js", "GET,HEAD"),
    ("/clock.js", "GET,HEAD"),
    ("/icon.svg", "GET,HEAD"),
];

#[derive(Debug, Deserialize)]
struct CodeQuery {
    code: String,
}

#[derive(Debug, Deserialize)]
struct SinceQuery {
    #[serde(default)]
    since: String,
}

/// The fields of a form.
#[derive(Debug, Default)]
struct Form {
    command: String,
    item: Option<String>,
    text: Option<String>,
    is_confirmed: bool,
    access: String,
}

/// Answers a request for the page. `address` is `None` for a wrong `Host`.
pub(in crate::api) async fn respond(request: Request, address: Option<PageAddress>) -> Response {
    let wants_json = single_header(request.headers(), header::ACCEPT) == Some("application/json");
    // A link of another page led here: the browser held the cookie back, and sends it when the page itself asks.
    let is_first_visit = request.method() == Method::GET
        && request.uri().path() == "/"
        && single_header(request.headers(), header::HeaderName::from_static("sec-fetch-site")) == Some("cross-site");
    let path = request.uri().path().to_owned();
    let mut response = route(request, address).await.unwrap_or_else(|error| {
        let is_retried = is_first_visit && error.status == StatusCode::UNAUTHORIZED;
        let mut response = if wants_json {
            (error.status, Json(json!(ErrorDocument { error: &error.failure }))).into_response()
        } else {
            (error.status, [(header::CONTENT_TYPE, HTML)], document::failure(&error.failure)).into_response()
        };
        let known = ROUTES.iter().find(|(known, _)| *known == path);
        if let Some((_, methods)) = known.filter(|_| error.status == StatusCode::METHOD_NOT_ALLOWED) {
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(methods));
        }
        if is_retried {
            response.headers_mut().insert(header::REFRESH, HeaderValue::from_static("0;url=/"));
        }
        response
    });
    headers::protect(response.headers_mut());
    response
}

async fn route(request: Request, address: Option<PageAddress>) -> Result<Response, ApiError> {
    let refused = |why: &str| ApiError::unauthorized(StatusCode::FORBIDDEN, why);
    let address = address.ok_or_else(|| refused("invalid Host header: must be the address of the page"))?;
    let site = Site::current().ok_or_else(|| ApiError::busy("the server is shutting down"))?;
    let (path, method) = (request.uri().path().to_owned(), request.method().clone());
    let Some((_, methods)) = ROUTES.iter().find(|(known, _)| *known == path) else {
        return Err(ApiError::unknown_page(&path));
    };
    if !methods.split(',').any(|known| known == method.as_str()) {
        return Err(ApiError::method_not_allowed(method.as_str(), &path));
    }
    match path.as_str() {
        "/page.css" => return Ok(file("text/css; charset=utf-8", STYLE)),
        "/page.js" => return Ok(file("text/javascript; charset=utf-8", SCRIPT)),
        "/clock.js" => return Ok(file("text/javascript; charset=utf-8", CLOCK)),
        "/icon.svg" => return Ok(file("image/svg+xml", ICON)),
        "/open" => return open(&site, &address, &request),
        _ => {}
    }
    let access = site.access(&address, request.headers()).ok_or_else(ApiError::no_page_access)?;
    match path.as_str() {
        "/events" => events(&site, &request, access),
        "/" => {
            let (board, frame) = site.feed.board().await?;
            let html = document::board(&site.feed, &frame, &board.project, board.now, access);
            Ok(file(HTML, html))
        }
        changing => {
            check_origin(&address, request.headers())?;
            if access != Access::Full {
                return Err(refused("this browser may only look"));
            }
            let wants_json = single_header(request.headers(), header::ACCEPT) == Some("application/json");
            let form = Form::read(request).await?;
            if changing == "/device" {
                return device(&site, &form);
            }
            let answer = act(&site, form).await?;
            Ok(if wants_json {
                Json(json!({ "line": answer.line, "notes": answer.notes })).into_response()
            } else {
                file(HTML, document::result(&answer))
            })
        }
    }
}

fn file(content_type: &'static str, text: impl Into<Body>) -> Response {
    ([(header::CONTENT_TYPE, content_type)], text.into()).into_response()
}

/// Exchanges a code for a cookie. A request that only prepares a visit uses no code up.
fn open(site: &Site, address: &PageAddress, request: &Request) -> Result<Response, ApiError> {
    if request.headers().contains_key("sec-purpose") {
        return Err(ApiError::unauthorized(StatusCode::FORBIDDEN, "a prefetch opens no page"));
    }
    let CodeQuery { code } = query(request)?;
    let key = site.exchange(address, &code)?.ok_or_else(ApiError::no_page_access)?;
    let cookie = format!("{}={key}; Path=/; HttpOnly; SameSite=Strict", Site::cookie_name(address));
    Ok((StatusCode::SEE_OTHER, [(header::LOCATION, "/"), (header::SET_COOKIE, cookie.as_str())]).into_response())
}

fn events(site: &Site, request: &Request, access: Access) -> Result<Response, ApiError> {
    let SinceQuery { since } = query(request)?;
    if request.method() == Method::HEAD {
        return Ok(sse::head());
    }
    let last = request.headers().get("last-event-id").and_then(|value| value.to_str().ok());
    let version = site.feed.version(last.unwrap_or(&since));
    let (response, items) = sse::stream();
    tokio::spawn(Arc::clone(&site.feed).serve(items, version, access));
    Ok(response)
}

/// Refuses a change that another site asks for. Browsers name the origin with every form and script that posts.
fn check_origin(address: &PageAddress, headers: &HeaderMap) -> Result<(), ApiError> {
    let fetch_site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    let is_own = single_header(headers, header::ORIGIN) == Some(address.origin.as_str())
        && fetch_site.is_none_or(|site| site == b"same-origin");
    let why = "a change must come from the page itself (header Origin)";
    if is_own { Ok(()) } else { Err(ApiError::unauthorized(StatusCode::FORBIDDEN, why)) }
}

impl Form {
    async fn read(request: Request) -> Result<Self, ApiError> {
        let is_form = single_header(request.headers(), header::CONTENT_TYPE)
            .is_some_and(|kind| kind.split(';').next() == Some("application/x-www-form-urlencoded"));
        if !is_form {
            return Err(ApiError::usage("the request body is no form"));
        }
        let body = RequestBody::read(request).await?;
        let mut form = Self::default();
        for (name, value) in form_urlencoded::parse(body.bytes()) {
            let value = value.into_owned();
            match name.as_ref() {
                "command" => form.command = value,
                "item" => form.item = Some(value),
                // A browser writes line ends as CR LF.
                "text" => form.text = Some(value.replace("\r\n", "\n")),
                "confirm" => form.is_confirmed = value == "yes",
                "access" => form.access = value,
                _ => {}
            }
        }
        Ok(form)
    }
}

/// Does a command, if the board offers it now: what an item said a while ago may concern another claim by now.
async fn act(site: &Site, form: Form) -> Result<Answer, ApiError> {
    let command = PageCommand::parse(&form.command)
        .ok_or_else(|| ApiError::usage("the page cannot do this command: use the command line"))?;
    if command.question().is_some() && !form.is_confirmed {
        return Err(anyhow::Error::from(Refusal::NotConfirmed).into());
    }
    let (board, _) = site.feed.board().await?;
    check_offered(&board, &form, &command)?;
    let (factory, hooks, text) = (site.feed.factory(), site.hooks, form.text);
    state::run_blocking_as(factory, move |app| command.run(app, text.as_deref(), hooks)).await
}

fn check_offered(board: &ComposedBoard, form: &Form, command: &PageCommand) -> Result<(), ApiError> {
    let is_offered = match (&form.item, command) {
        (Some(item), _) => board.commands.iter().any(|(id, commands)| id == item && commands.contains(&form.command)),
        (None, PageCommand::Prompt(session) | PageCommand::Stop(session)) => {
            board.sessions.iter().any(|id| id == session.as_str())
        }
        (None, _) => false,
    };
    let item = form.item.clone().unwrap_or_else(|| form.command.clone());
    if is_offered { Ok(()) } else { Err(anyhow::Error::from(Refusal::not_found("item of the board", item)).into()) }
}

fn device(site: &Site, form: &Form) -> Result<Response, ApiError> {
    let access = match form.access.as_str() {
        "full" => Access::Full,
        "read-only" => Access::ReadOnly,
        _ => return Err(ApiError::usage("invalid access: must be full or read-only")),
    };
    let origins = [Some(site.origin()), site.network_origin()];
    let urls = origins.iter().flatten().map(|origin| site.one_time_url(origin, access));
    Ok(file(HTML, document::device(&urls.collect::<anyhow::Result<Vec<_>>>()?, access)))
}
