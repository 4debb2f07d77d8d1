//! Links of the documentation lead to files and headings that exist.

use std::collections::BTreeSet;
use std::path::Path;

use regex::Regex;

use super::markdown::{anchor, prose};
use super::{pages, root, text};

/// The anchors of a page: its headings, and `<a id="…">` elements.
fn anchors(text: &str) -> BTreeSet<String> {
    let explicit = Regex::new(r#"<a id="([^"]+)">"#).unwrap();
    let mut anchors: BTreeSet<String> = explicit.captures_iter(text).map(|found| found[1].to_owned()).collect();
    for (_, line) in prose(text).into_iter().filter(|(_, line)| line.starts_with('#')) {
        let name = anchor(line);
        let again = (1..1_000).map(|number| format!("{name}-{number}")).find(|next| !anchors.contains(next)).unwrap();
        if !anchors.insert(name) {
            anchors.insert(again);
        }
    }
    anchors
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let link = Regex::new(r"\]\(([^)\s]+)\)").unwrap();
    let (mut broken, mut count) = (Vec::new(), 0);
    for page in pages() {
        let source = text(&page);
        for (number, line) in prose(&source) {
            for found in link.captures_iter(line) {
                let target = &found[1];
                if target.contains("://") || target.starts_with("mailto:") {
                    continue;
                }
                count += 1;
                let (file, heading) = target.split_once('#').unwrap_or((target, ""));
                let path = if file.is_empty() {
                    root().join(&page)
                } else {
                    root().join(Path::new(&page).parent().unwrap()).join(file)
                };
                let is_found = path.exists()
                    && (heading.is_empty()
                        || std::fs::read_to_string(&path).is_ok_and(|text| anchors(&text).contains(heading)));
                if !is_found {
                    broken.push(format!("{page}:{number}: {target}"));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(count > 100, "only {count} links were found");
}

/// The index reaches every page below `docs/`.
#[test]
fn index_names_every_page() {
    let index = text("docs/index.md");
    let missing: Vec<String> = pages()
        .into_iter()
        .filter_map(|page| page.strip_prefix("docs/").map(str::to_owned))
        .filter(|page| page != "index.md" && !index.contains(&format!("]({page})")))
        .collect();
    assert!(missing.is_empty(), "docs/index.md does not link {missing:?}");
}
