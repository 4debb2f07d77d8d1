//! `fairway task add`: which argument is an id, and which the title.

use serde_json::json;

use crate::common::TestProject;

#[test]
fn an_unquoted_title_is_refused_with_its_quoted_form() {
    let world = TestProject::new();
    insta::assert_snapshot!(world.transcript(&[
        "fairway task add fix cart",
        "fairway task add Fix the total",
        "fairway task add T-9",
        "fairway task add T-9 fix cart",
        "fairway task add --id fix the cart",
        "fairway task add --id 'no id' cart",
        "fairway task list --all",
    ]), @"
    ");
}

#[test]
fn an_id_is_given_by_flag_or_by_a_form_that_no_word_has() {
    let world = TestProject::new();
    insta::assert_snapshot!(world.transcript(&[
        "fairway task add 'fix cart'",
        "fairway task add SHOP-7 cart",
        "fairway task add --id fix cart",
        "fairway task add --id api-v2 T-9",
        "fairway task add fix",
        "fairway task add --id SHOP-7 again",
        "fairway task list",
    ]), @"
    ");
}

#[test]
fn a_generated_id_is_the_next_after_every_used_one() {
    let world = TestProject::new();
    for id in ["T-7", "T-8", "T-30"] {
        world.run(["task", "add", id, "title"]).exits(0);
    }
    world.run(["task", "rm", "T-30", "T-7"]).exits(0);
    assert_eq!(world.json(["task", "add", "title"])["id"], "T-31");
    let refused = world.run(["task", "add", "--id", "T-7", "title", "--json"]).refuses(4, "exists").error();
    assert_eq!(refused["details"], json!({ "noun": "task", "id": "T-7" }));
}
