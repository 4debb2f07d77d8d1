//! The board as the clients have it: each item with the version at which it changed last. A client gets what is newer than its
//! own version, so that a slow one skips versions and misses nothing.

use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value, json};

use super::access::Access;
use super::board_part::{Item, Part};

/// A version of the board.
#[derive(Debug)]
pub(super) struct Frame {
    /// Counts the changes since the server started.
    pub(super) version: u64,
    pub(super) parts: Vec<FramePart>,
    /// The changes since the previous version, one for each access. They are composed once for all clients.
    newest: [OnceLock<Arc<str>>; 2],
}

/// A part with the version of each of its items.
#[derive(Debug)]
pub(super) struct FramePart {
    pub(super) part: Part,
    /// The version at which an item changed, came or went, or the order changed.
    changed_at: u64,
    item_versions: Vec<u64>,
}

impl Frame {
    /// The frame before the first board is read.
    pub(super) fn empty() -> Arc<Self> {
        Arc::new(Self { version: 0, parts: Vec::new(), newest: Default::default() })
    }

    /// Returns the next frame, which has these parts. Returns `None` when they are the parts of this frame.
    pub(super) fn next(&self, parts: Vec<Part>) -> Option<Arc<Self>> {
        let version = self.version + 1;
        let mut is_changed = self.parts.len() != parts.len();
        let parts = parts
            .into_iter()
            .map(|part| {
                let before = self.parts.iter().find(|known| known.part.name == part.name);
                let Some(before) = before else {
                    is_changed = true;
                    let item_versions = vec![version; part.items.len()];
                    return FramePart { part, changed_at: version, item_versions };
                };
                if before.part == part {
                    return FramePart {
                        part,
                        changed_at: before.changed_at,
                        item_versions: before.item_versions.clone(),
                    };
                }
                is_changed = true;
                let known = before.part.items.iter().zip(&before.item_versions);
                let known: std::collections::BTreeMap<&str, _> =
                    known.map(|(item, version)| (item.key.as_str(), (item, *version))).collect();
                let version_of = |item: &Item| match known.get(item.key.as_str()) {
                    Some((same, version)) if *same == item => *version,
                    _ => version,
                };
                let item_versions = part.items.iter().map(version_of).collect();
                FramePart { part, changed_at: version, item_versions }
            })
            .collect();
        is_changed.then(|| Arc::new(Self { version, parts, newest: Default::default() }))
    }

    /// Everything that a client with version `since` lacks, as JSON: for each changed part its name, the number beside its
    /// heading, its sentence without items, the keys of all items in order, and the HTML of the changed ones.
    pub(super) fn changes(&self, since: u64, access: Access) -> Arc<str> {
        if since + 1 == self.version {
            let slot = if access == Access::Full { &self.newest[0] } else { &self.newest[1] };
            return Arc::clone(slot.get_or_init(|| self.write_changes(since, access)));
        }
        self.write_changes(since, access)
    }

    fn write_changes(&self, since: u64, access: Access) -> Arc<str> {
        let changed = self.parts.iter().filter(|one| one.changed_at > since);
        let parts: Vec<Value> = changed
            .map(|one| {
                let order: Vec<&str> = one.part.items.iter().map(|item| item.key.as_str()).collect();
                let items = one.part.items.iter().zip(&one.item_versions).filter(|(_, version)| **version > since);
                let items: Map<String, Value> =
                    items.map(|(item, _)| (item.key.clone(), json!(item.html(access).as_str()))).collect();
                let none = &one.part.none;
                json!({ "name": one.part.name, "count": one.part.count, "none": none, "order": order, "items": items })
            })
            .collect();
        json!({ "parts": parts }).to_string().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::page::html::Html;

    fn part(items: &[(&str, &'static str)]) -> Part {
        let item = |(key, text): &(&str, &'static str)| {
            let mut full = Html::default();
            full.markup(text);
            let mut read_only = full.clone();
            read_only.markup("!");
            Item { key: (*key).to_owned(), full, read_only }
        };
        Part { name: "needs", title: "", none: None, count: 7, items: items.iter().map(item).collect() }
    }

    fn changes(frame: &Frame, since: u64, access: Access) -> Value {
        serde_json::from_str::<Value>(&frame.changes(since, access)).unwrap()["parts"].clone()
    }

    #[test]
    fn client_gets_what_is_newer_than_its_version() {
        let first = Frame::empty().next(vec![part(&[("a", "A"), ("b", "B")])]).unwrap();
        assert!(first.next(vec![part(&[("a", "A"), ("b", "B")])]).is_none());
        let second = first.next(vec![part(&[("b", "B"), ("a", "A2")])]).unwrap();
        let third = second.next(vec![part(&[("b", "B"), ("c", "C")])]).unwrap();
        assert_eq!(
            changes(&second, 1, Access::Full),
            json!([{ "name": "needs", "count": 7, "none": null, "order": ["b", "a"], "items": { "a": "A2" } }])
        );
        assert_eq!(
            changes(&second, 1, Access::ReadOnly),
            json!([{ "name": "needs", "count": 7, "none": null, "order": ["b", "a"], "items": { "a": "A2!" } }])
        );
        // A client that skipped a version, one that begins, and one that has everything.
        assert_eq!(
            changes(&third, 1, Access::Full),
            json!([{ "name": "needs", "count": 7, "none": null, "order": ["b", "c"], "items": { "c": "C" } }])
        );
        assert_eq!(changes(&third, 0, Access::Full)[0]["items"], json!({ "b": "B", "c": "C" }));
        assert_eq!(changes(&third, 3, Access::Full), json!([]));
    }
}
