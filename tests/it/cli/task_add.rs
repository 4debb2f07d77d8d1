//! `fairway task add`: which argument is an id, and which the title.

use serde_json::json;

use crate::common::TestProject;

#[test]
fn unquoted_title_is_refused_with_its_quoted_form() {
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
    $ fairway task add fix cart
    error: 'fix' is not a task id, and a title is one argument
    hint: quote the title: fairway task add 'fix cart'
    hint: or name the id: fairway task add --id fix cart
    [exit 2]
    $ fairway task add Fix the total
    error: 'Fix' is not a task id, and a title is one argument
    hint: quote the title: fairway task add 'Fix the total'
    hint: or name the id: fairway task add --id Fix 'the total'
    [exit 2]
    $ fairway task add T-9
    error: 'T-9' looks like a task id, and a title is missing
    hint: give it a title: fairway task add T-9 TITLE
    hint: if it is the title, name an id: fairway task add --id ID T-9
    [exit 2]
    $ fairway task add T-9 fix cart
    error: a title is one argument
    hint: quote the title: fairway task add T-9 'fix cart'
    [exit 2]
    $ fairway task add --id fix the cart
    error: a title is one argument
    hint: quote the title: fairway task add --id fix 'the cart'
    [exit 2]
    $ fairway task add --id 'no id' cart
    error: invalid value 'no id' for '--id <ID>': task id 'no id' must start with a-z or A-Z and contain only a-z, A-Z, 0-9, '.', '_' and '-', at most 64 characters
    hint: read the help: fairway task add --help
    [exit 2]
    $ fairway task list --all
    no tasks
    ");
}

#[test]
fn id_is_given_by_flag_or_by_a_form_that_no_word_has() {
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
    $ fairway task add 'fix cart'
    added T-1
    $ fairway task add SHOP-7 cart
    added SHOP-7
    $ fairway task add --id fix cart
    added fix
    $ fairway task add --id api-v2 T-9
    added api-v2
    $ fairway task add fix
    added T-2
    $ fairway task add --id SHOP-7 again
    error: task 'SHOP-7' already exists
    [exit 4]
    $ fairway task list
    ID      P  STATUS  ROLE  LANE  HELD BY  TITLE
    T-1     2  todo    -     -     -        fix cart
    SHOP-7  2  todo    -     -     -        cart
    fix     2  todo    -     -     -        cart
    api-v2  2  todo    -     -     -        T-9
    T-2     2  todo    -     -     -        fix
    ");
}

#[test]
fn generated_id_is_the_next_after_every_used_one() {
    let world = TestProject::new();
    for id in ["T-7", "T-8", "T-30"] {
        world.run(["task", "add", id, "title"]).exits(0);
    }
    world.run(["task", "rm", "T-30", "T-7"]).exits(0);
    assert_eq!(world.json(["task", "add", "title"])["id"], "T-31");
    let refused = world.run(["task", "add", "--id", "T-7", "title", "--json"]).refuses(4, "exists").error();
    assert_eq!(refused["details"], json!({ "noun": "task", "id": "T-7" }));
}
