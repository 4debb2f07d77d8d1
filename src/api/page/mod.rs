//! The board in the browser: HTML of the board that `fairway status` prints, kept current by server-sent events, and the
//! commands that settle its items. It has an origin of its own beside the worker API, and keys of its own.

mod access;
mod activity_strip;
mod answer_page;
mod board_composer;
mod board_html;
mod board_part;
mod board_versions;
mod command_html;
mod device_keys;
mod devices_page;
mod document;
mod form;
mod html;
mod labels;
mod lane_page;
mod line_comments;
mod live_screen;
mod open_html;
mod origin;
mod page_command;
mod page_layout;
mod patch_html;
mod response;
mod review_command;
mod review_facts;
mod review_page;
mod routes;
mod search_page;
mod shared_board;
mod task_command;
mod task_filter;
mod task_panel;
mod tasks_page;
mod usage_page;

pub use access::Access;
pub use board_html::page_parts;
pub use origin::PageProviders;
pub(super) use origin::{Site, SiteAddresses};
pub use page_command::{KeyedCommand, keyed_command};
pub(super) use routes::respond;
