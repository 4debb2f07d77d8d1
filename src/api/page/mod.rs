//! The board in the browser: HTML of the board that `fairway status` prints, kept current by server-sent events, and the
//! commands that settle its items. It has an origin of its own beside the worker API, and keys of its own.

mod access;
mod act;
mod board_html;
mod composer;
mod document;
mod feed;
mod frame;
mod headers;
mod html;
mod routes;
mod site;
mod words;

pub use access::Access;
pub use board_html::page_parts;
pub(super) use routes::respond;
pub use site::PageProviders;
pub(super) use site::Site;
