//! The pictures of the README are those of the program.

use std::fs;
use std::path::Path;

use crate::common::TestProject;
use crate::common::test_project::FAIRWAY;

/// The lines of a picture as text.
fn lines(picture: &str) -> Vec<String> {
    let tags = regex::Regex::new("<[^>]*>").unwrap();
    picture.lines().map(|line| tags.replace_all(line, "").into_owned()).collect()
}

/// `UPDATE_DOCS=1` makes the pictures anew.
#[test]
fn pictures_are_those_of_the_program() {
    let mut world = TestProject::uninitialized();
    world.real_time();
    world.set("FAIRWAY", FAIRWAY);
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/pictures");
    let out = if std::env::var_os("UPDATE_DOCS").is_some() { here.clone() } else { world.dir().join("pictures") };
    let made = world.command(here.join("make.sh")).arg(&out).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    for name in ["top.svg", "day.svg"] {
        let [made, kept] = [&out, &here].map(|dir| fs::read_to_string(dir.join(name)).unwrap_or_default());
        assert!(made == kept, "{name} is out of date: run docs/pictures/make.sh");
    }
    // The first item says who, what and since when.
    let top = lines(&fs::read_to_string(here.join("top.svg")).unwrap());
    let first: Vec<String> = top.into_iter().skip_while(|line| !line.contains("NEEDS YOU (3)")).take(3).collect();
    for part in ["question", "ada", "which currency for refunds?", "2m"] {
        assert!(first.concat().contains(part), "{part}: {first:?}");
    }
}
