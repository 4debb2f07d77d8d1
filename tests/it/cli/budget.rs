//! `fairway budget …`.

use fairway_actions::sessions::report::telemetry::{Turn, Usage, report};
use fairway_core::domain::RunId;

use crate::common::{TestProject, fixtures};
use crate::runtime::app;

#[test]
fn budgets_are_listed_and_raised_and_a_spent_one_starts_nothing() {
    let world = TestProject::with_git();
    let config = "[budgets]\ntask = \"5 USD\"\nsession = \"1k tokens\"\nday = \"12 USD\"\n";
    let path = world.root().join(".fairway/local.toml");
    std::fs::write(&path, std::fs::read_to_string(&path).unwrap_or_default() + config).unwrap();
    fixtures::add_session(&world, "s1", "backend", None);
    for id in ["T-1", "T-2", "T-3"] {
        world.run(["task", "add", id, "title"]).exits(0);
    }
    let told = |task: &str, cost_usd: Option<f64>| {
        world.run(["session", "upsert", "--id", "s1", "--task-id", task]).exits(0);
        let usage = Usage { input_tokens: 110, cost_usd, ..Usage::default() };
        let turn = Turn { at: world.now(), key: None, usage: Some(usage), tools: vec![] };
        report(&app(&world), &RunId::parse("run-s1"), &[turn]).unwrap();
        world.advance_clock(1);
    };
    told("T-1", Some(5.5));
    told("T-2", None);
    told("T-2", Some(0.25));
    insta::assert_snapshot!(world.transcript(&[
        "fairway budget",
        "fairway budget --quiet",
        "fairway budget raise T-1 5usd --reason more",
        "fairway start T-1 -- true",
        "fairway budget raise T-1 '8 USD' --reason 'nearly done'",
        "fairway budget raise day 5usd --reason less",
        "fairway budget raise s2 5usd --reason more",
        "fairway budget raise T-1 five --reason more",
        "fairway --json budget raise s1 '1M tokens' --reason more",
        "fairway budget",
    ]), @r#"
    $ fairway budget
    BUDGET   OF          USED        CAP          SHARE  STATE        COSTS KNOWN
    task     T-1         5.50 USD    5.00 USD     110 %  spent        1 of 1 turns
    task     T-2         0.25 USD    5.00 USD     5 %    cannot hold  1 of 2 turns
    session  s1          330 tokens  1000 tokens  33 %   free         2 of 3 turns
    day      2026-01-01  5.75 USD    12.00 USD    47 %   cannot hold  2 of 3 turns
    $ fairway budget --quiet
    T-1
    T-2
    s1
    2026-01-01
    $ fairway budget raise T-1 5usd --reason more
    error: amount 5.00 USD is used already: T-1 has used 5.50 USD of 5.00 USD
    hint: raise it: fairway budget raise T-1 '11.00 USD' --reason TEXT
    [exit 2]
    $ fairway start T-1 -- true
    error: T-1 does not start: T-1 has used 5.50 USD of 5.00 USD
    hint: raise it: fairway budget raise T-1 '11.00 USD' --reason TEXT
    [exit 4]
    $ fairway budget raise T-1 '8 USD' --reason 'nearly done'
    the budget of T-1 is 8.00 USD
    $ fairway budget raise day 5usd --reason less
    error: amount 5.00 USD is used already: the day has used 5.75 USD of 5.00 USD
    hint: raise it: fairway budget raise day '11.50 USD' --reason TEXT
    [exit 2]
    $ fairway budget raise s2 5usd --reason more
    error: there is no task 's2'
    hint: list the tasks: fairway task list
    [exit 3]
    $ fairway budget raise T-1 five --reason more
    error: invalid value 'five' for '<AMOUNT>': 'five' is not an amount such as 5usd, '0.50 USD' or '2M tokens'
    hint: read the help: fairway budget raise --help
    [exit 2]
    $ fairway --json budget raise s1 '1M tokens' --reason more
    {"kind":"session","of":"s1","cap":"1M tokens","used":"330 tokens","percent":0,"state":"free","turns":3,"turns_without_cost":1}
    $ fairway budget
    BUDGET   OF          USED        CAP        SHARE  STATE        COSTS KNOWN
    task     T-1         5.50 USD    8.00 USD   68 %   free         1 of 1 turns
    task     T-2         0.25 USD    5.00 USD   5 %    cannot hold  1 of 2 turns
    session  s1          330 tokens  1M tokens  0 %    free         2 of 3 turns
    day      2026-01-01  5.75 USD    12.00 USD  47 %   cannot hold  2 of 3 turns
    "#);
    // A lower cap holds as well, though little of the configured one is used.
    world.run(["budget", "raise", "T-3", "0.50 USD", "--reason", "less"]).exits(0);
    told("T-3", Some(0.6));
    world.run(["start", "T-3", "--json", "--", "true"]).refuses(4, "budget_spent");
}
