//! Documents name files and tests of this repository that exist.

use std::fs;
use std::path::Path;

use regex::Regex;

use super::markdown::prose;
use super::{pages, root, text};
use crate::common::rust_files::SOURCES;

/// The directories whose files documents name by their path from the root.
const DIRS: &[&str] = &["src", "crates", "tests", "benches", "examples", "session-adapters"];

/// Every file and directory that a document may name, by its path from the root.
fn tree() -> Vec<String> {
    fn walk(path: &Path, found: &mut Vec<String>) {
        found.push(path.strip_prefix(root()).unwrap().to_string_lossy().into_owned());
        if path.is_dir() {
            for entry in fs::read_dir(path).unwrap() {
                walk(&entry.unwrap().path(), found);
            }
        }
    }
    let mut found = vec!["build.rs".to_owned()];
    for dir in DIRS {
        walk(&root().join(dir), &mut found);
    }
    found
}

/// Whether the tree has what a document names. `NOUN`, `…` and `*` stand for any name.
fn is_path(name: &str, tree: &[String]) -> bool {
    let pattern = regex::escape(name).replace("…/", "(?:.*/)?").replace('…', "[^/]*").replace(r"\*", "[^/]*");
    let pattern = Regex::new("[A-Z]{2,}").unwrap().replace_all(&pattern, "[^/]+").into_owned();
    let begin = if DIRS.iter().any(|dir| name.starts_with(&format!("{dir}/"))) { "^" } else { "(?:^|/)" };
    let pattern = Regex::new(&format!("{begin}{pattern}$")).unwrap();
    tree.iter().any(|path| pattern.is_match(path))
}

/// A module of tests that stands outside of `tests/it`.
const SCHEMAS: &str = "cli::schemas::";

/// Whether a name such as `cli::claim::` or `docs::names::a_test` is a module, or a test in one: of `tests/it`, else of `src`.
fn is_test(name: &str) -> bool {
    let source = |path: &[&str]| {
        ["tests/it"].iter().chain(&SOURCES).find_map(|dir| {
            let path = root().join(dir).join(path.join("/"));
            fs::read_to_string(path.with_extension("rs")).or_else(|_| fs::read_to_string(path.join("mod.rs"))).ok()
        })
    };
    if name == SCHEMAS {
        return root().join("tests/schemas/mod.rs").exists();
    }
    let path: Vec<&str> = name.trim_end_matches("::").split("::").collect();
    let (last, module) = path.split_last().unwrap();
    // A function, or an entry of a macro that makes them.
    let test = Regex::new(&format!(r"(?m)\bfn {last}\b|^\s*{last}: ")).unwrap();
    source(&path).is_some() || (!module.is_empty() && source(module).is_some_and(|source| test.is_match(&source)))
}

/// The names in some lines: how many there are, and which lead to nothing.
fn check(page: &str, lines: &[(usize, &str)], tree: &[String]) -> (usize, Vec<String>) {
    let path = Regex::new(&format!(r"(?:^|[\s`(\[])((?:(?:{})/[\w./…*-]+)|[\w/…-]+\.rs)\b/?", DIRS.join("|"))).unwrap();
    let test = Regex::new(r"\b[a-z]\w*::(?:\w+(?:::)?)*|(?:\btests? `|\btest\()([a-z]\w+)[`)]").unwrap();
    let sources: Vec<String> = tree
        .iter()
        .filter(|path| path.starts_with("tests/it/") && Path::new(path).extension().is_some_and(|end| end == "rs"))
        .map(|path| text(path))
        .collect();
    let is_single = |name: &str| is_test(name) || sources.iter().any(|source| source.contains(&format!("fn {name}")));
    let (mut count, mut unknown) = (0, Vec::new());
    for (number, line) in lines {
        let paths = path.captures_iter(line).map(|found| (found[1].to_owned(), is_path(&found[1], tree)));
        let tests = test.captures_iter(line).map(|found| match found.get(1) {
            Some(name) => (name.as_str().to_owned(), is_single(name.as_str())),
            None => (found[0].to_owned(), is_test(&found[0])),
        });
        for (name, is_there) in paths.chain(tests) {
            count += 1;
            if !is_there {
                unknown.push(format!("{page}:{number}: {name}"));
            }
        }
    }
    (count, unknown)
}

/// The lines of a page that speak of this repository. Blocks of a guide are about a reader's own repository, those of
/// CONTRIBUTING are not.
fn lines<'text>(page: &str, source: &'text str) -> Vec<(usize, &'text str)> {
    if page == "CONTRIBUTING.md" {
        return (1..).zip(source.lines()).collect();
    }
    prose(source)
}

#[test]
fn named_files_and_tests_exist() {
    let tree = tree();
    let (mut count, mut unknown) = (0, Vec::new());
    let mut add = |(more, names): (usize, Vec<String>)| {
        count += more;
        unknown.extend(names);
    };
    // The changelog is history: it names what was.
    for page in pages().into_iter().filter(|page| page != "CHANGELOG.md") {
        let source = text(&page);
        add(check(&page, &lines(&page, &source), &tree));
    }
    let library = text("src/lib.rs");
    let comments: Vec<(usize, &str)> = (1..).zip(library.lines()).filter(|(_, line)| line.starts_with("//!")).collect();
    add(check("src/lib.rs", &comments, &tree));
    assert!(unknown.is_empty(), "{unknown:#?}");
    assert!(count > 100, "only {count} names were found");
}

#[test]
fn names_that_lead_to_nothing_are_found() {
    let tree = tree();
    let of = |line: &str| check("page", &[(1, line)], &tree);
    for there in [
        "`tests/it/docs/names.rs`, `docs::names::named_files_and_tests_exist`",
        "`cli/…/claim.rs` and `src/cli/NOUN/VERB.rs`",
        "in `crates/fairway-core/src/domain/`, by cargo nextest run -E 'test(/^cli::claim::/)'",
        "the test `glossary`, and test(named_files_and_tests_exist)",
    ] {
        let (count, unknown) = of(there);
        assert!(count == 2 && unknown.is_empty(), "{there}: {count}, {unknown:?}");
    }
    for missing in [
        "`tests/it/docs/naming.rs`",
        "`docs::names::named_files_and_tests_exists`",
        "`docs::naming::`",
        "`store/no_such_file.rs`",
        "see src/no_such_dir/",
        "the test `no_such_test`",
    ] {
        assert_eq!(of(missing).1.len(), 1, "{missing}");
    }
}
