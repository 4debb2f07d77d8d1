//! The parts of the board as HTML, each a list of items with a key that is the same while the item lasts.

use super::access::Access;
use super::html::Html;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    /// Its key, unique in its part.
    pub(super) key: String,
    /// The item for a reader with full access.
    pub(super) full: Html,
    pub(super) read_only: Html,
}

impl Item {
    /// Draws an item for both kinds of readers.
    pub(super) fn draw(key: String, mut inside: impl FnMut(&mut Html, Access)) -> Self {
        let mut draw = |access| {
            let mut html = Html::default();
            html.markup("<li").attribute("data-key", &key);
            inside(&mut html, access);
            html.markup("</li>");
            html
        };
        let (full, read_only) = (draw(Access::Full), draw(Access::ReadOnly));
        Self { key, full, read_only }
    }

    pub(super) fn html(&self, access: Access) -> &Html {
        if access == Access::Full { &self.full } else { &self.read_only }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    /// Also the id of its element.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// The sentence for an empty part. Without one, an empty part is hidden.
    pub(super) none: Option<String>,
    /// The number beside the heading. It may differ from the items: not all ready tasks are rows.
    pub(super) count: usize,
    pub(super) items: Vec<Item>,
}
