//! The board in the browser: HTML of the board that `fairway status` prints, kept current by server-sent events, and the
//! commands that settle its items. It has an origin of its own beside the worker API, and keys of its own.

mod access;
mod act;
mod board_html;
mod composer;
mod document;
mod frame;
mod headers;
mod html;
mod labels;
mod origin;
mod routes;
mod shared_board;

pub use access::Access;
pub use board_html::page_parts;
pub use origin::PageProviders;
pub(super) use origin::Site;
pub(super) use routes::respond;
