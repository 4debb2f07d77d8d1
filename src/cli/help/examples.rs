//! The examples at the end of each help page.

use crate::hooks::Provider;

/// A command's path, and lines that call it.
type Examples = (&'static str, &'static [&'static str]);

/// Stands for a provider's name, which only the code of the hooks knows.
const PROVIDER: &str = "{provider}";

/// The lines of a command; none for a path that has no row.
pub fn of(path: &str) -> Vec<String> {
    let provider = Provider::ALL.first().map(|provider| provider.label()).unwrap_or_default();
    let found = EXAMPLES.iter().find(|(of, _)| *of == path);
    found.into_iter().flat_map(|(_, lines)| *lines).map(|line| line.replace(PROVIDER, provider)).collect()
}

const EXAMPLES: &[Examples] = &[
    ("init", &["fairway init", "fairway init --store postgres://fairway@db.example/team"]),
    ("demo", &["fairway demo", "fairway demo --keep --dir ./demo"]),
    ("setup", &["fairway setup --dry-run", "fairway setup --undo"]),
    ("task", &["fairway task add 'Fix the total' --role backend", "fairway task list"]),
    (
        "task add",
        &["fairway task add 'Fix the total'", "fairway task add SHOP-7 'Gift cards' --check 'tests=cargo test'"],
    ),
    ("task list", &["fairway task list", "fairway task list --all --grep cart"]),
    ("task show", &["fairway task show T-4"]),
    ("task edit", &["fairway task edit T-4 --priority 0 --lane api", "fairway task edit T-5 T-6 --label later"]),
    ("task dep", &["fairway task dep add T-4 T-2", "fairway task dep tree T-4"]),
    ("task dep add", &["fairway task dep add T-4 T-2"]),
    ("task dep rm", &["fairway task dep rm T-4 T-2"]),
    ("task dep tree", &["fairway task dep tree T-4"]),
    ("task claim", &["fairway task claim T-4"]),
    ("task release", &["fairway task release T-4 --reason 'needs a designer'"]),
    ("task block", &["fairway task block T-4 --reason 'waiting for credentials'"]),
    ("task unblock", &["fairway task unblock T-4"]),
    ("task submit", &["fairway task submit T-4"]),
    ("task resume", &["fairway task resume T-4"]),
    ("task done", &["fairway task done T-4"]),
    ("task merge-check", &["fairway task merge-check T-4"]),
    ("task cancel", &["fairway task cancel T-4 --reason 'no longer needed'"]),
    ("task reopen", &["fairway task reopen T-4 --reason 'the bug is back'"]),
    ("task rm", &["fairway task rm T-4 T-5"]),
    ("task import", &["fairway task import tasks.yaml --dry-run", "fairway task import --github issues.json"]),
    ("task export", &["fairway task export --format yaml"]),
    ("lane", &["fairway lane add api --role backend --create-worktree", "fairway lane list"]),
    ("lane add", &["fairway lane add api --role backend --create-worktree", "fairway lane add docs --wip 1"]),
    ("lane list", &["fairway lane list", "fairway lane list --git"]),
    ("lane show", &["fairway lane show api"]),
    ("lane diff", &["fairway lane diff api", "fairway lane diff api --since 120"]),
    ("lane sync", &["fairway lane sync api --dry-run", "fairway lane sync api"]),
    ("overlap", &["fairway overlap", "fairway overlap api"]),
    ("lane edit", &["fairway lane edit api --wip 2"]),
    ("lane pause", &["fairway lane pause api"]),
    ("lane open", &["fairway lane open api"]),
    ("lane close", &["fairway lane close api", "fairway lane close api --rm-worktree"]),
    ("lane rm", &["fairway lane rm api"]),
    ("lane prune", &["fairway lane prune --dry-run", "fairway lane prune"]),
    ("lane repair", &["fairway lane repair api"]),
    ("ready", &["fairway ready", "fairway ready --why"]),
    ("claim", &["fairway claim", "fairway claim T-4 --lease 30m"]),
    ("release", &["fairway release T-4 T-8 --reason 'end of the day'", "fairway release --dead"]),
    ("done", &["fairway done T-4"]),
    ("checkpoint", &["fairway checkpoint record T-4 --state active --summary 'parser done'"]),
    ("checkpoint record", &["fairway checkpoint record T-4 --state active --summary 'parser done' --due 2h"]),
    ("checkpoint list", &["fairway checkpoint list T-4"]),
    ("checkpoint show", &["fairway checkpoint show 7"]),
    ("checkpoint latest", &["fairway checkpoint latest T-4", "fairway checkpoint latest T-4 --written"]),
    ("checkpoint overdue", &["fairway checkpoint overdue"]),
    ("evidence", &["fairway evidence run T-4 --check tests", "fairway evidence list T-4"]),
    (
        "evidence run",
        &["fairway evidence run T-4 --check tests", "fairway evidence run T-4 --timeout 10m -- cargo test"],
    ),
    ("evidence add", &["fairway evidence add T-4 --result pass --summary 'CI run 812'"]),
    ("evidence list", &["fairway evidence list T-4"]),
    ("evidence show", &["fairway evidence show 3", "fairway evidence show 3 --lines 0"]),
    ("handoff", &["fairway handoff create T-4 --to-role qa --summary 'ready to test'", "fairway handoff list --open"]),
    ("handoff create", &["fairway handoff create T-4 --to-role qa --summary 'ready to test'"]),
    ("handoff list", &["fairway handoff list --open"]),
    ("handoff accept", &["fairway handoff accept 3", "fairway handoff accept 3 --move"]),
    ("handoff decline", &["fairway handoff decline 3 --reason 'no time this week'"]),
    ("handoff withdraw", &["fairway handoff withdraw 3"]),
    ("review", &["fairway review next", "fairway review record T-4 --verdict approve"]),
    ("review next", &["fairway review next", "fairway review next --task T-4 --all"]),
    ("review request", &["fairway review request T-4 --domain data"]),
    ("review record", &["fairway review record T-4 --verdict changes --notes 'see line 40'"]),
    ("review list", &["fairway review list", "fairway review list T-4"]),
    ("review withdraw", &["fairway review withdraw 3"]),
    ("review comment", &["fairway review comment T-4 src/cart.rs:12 'count each item'"]),
    ("review comments", &["fairway review comments T-4", "fairway review comments T-4 --all"]),
    ("review resolve", &["fairway review resolve 2"]),
    ("merge-ready", &["fairway merge-ready T-4", "fairway merge-ready T-4 --format github"]),
    ("land", &["fairway land T-4", "fairway land --all --dry-run"]),
    ("land pause", &["fairway land pause 'release freeze'"]),
    ("land resume", &["fairway land resume"]),
    ("land show", &["fairway land show --json"]),
    (
        "send",
        &[
            "fairway send s1 'run the tests again' --wait-ack 1m",
            "fairway send --all 'stop: the schema has changed' --priority urgent",
        ],
    ),
    (
        "note",
        &[
            "fairway note 'parser done; the printer is next'",
            "fairway note 'see the log' --task T-4 --artifact out.log",
        ],
    ),
    ("message", &["fairway message send 'main is frozen' --to-lane api", "fairway message list"]),
    ("message send", &["fairway message send 'main is frozen' --to-lane api"]),
    ("message prompt", &["fairway message prompt s1 'run the tests again'"]),
    ("message inbox", &["fairway message inbox --wait 30s"]),
    ("message list", &["fairway message list --to-session s1"]),
    ("message withdraw", &["fairway message withdraw 12"]),
    ("inbox", &["fairway inbox --wait 30s --ack"]),
    (
        "answer",
        &["fairway answer question:s1:3 'yes, both currencies'", "fairway answer question:s1:c12 --text-file note.md"],
    ),
    ("prompt", &["fairway prompt s1 'run the tests again'", "fairway prompt s1 --text-file note.md --wait-ack 1m"]),
    ("outbox", &["fairway outbox", "fairway outbox withdraw 12"]),
    ("outbox list", &["fairway outbox list --to-session s1"]),
    ("outbox withdraw", &["fairway outbox withdraw 12"]),
    ("approvals", &["fairway approvals --watch", "fairway approvals answer 3 allow"]),
    ("approvals list", &["fairway approvals list", "fairway approvals list --all"]),
    ("approvals watch", &["fairway approvals watch", "fairway approvals watch --for 8h"]),
    (
        "approvals answer",
        &["fairway approvals answer 3 deny --reason 'not on main'", "fairway approvals answer 4 5 allow"],
    ),
    ("session", &["fairway session launch --role backend --lane api -- {provider}", "fairway session list"]),
    (
        "session launch",
        &[
            "fairway session launch --lane api --prompt 'run the tests' --wait 2m -- {provider}",
            "fairway session launch --role qa --id qa-1 --task T-4 --attach",
        ],
    ),
    ("session relaunch", &["fairway session relaunch api-1", "fairway session relaunch --dead"]),
    ("session upsert", &["fairway session upsert --id s1 --role backend --provider {provider}"]),
    ("session list", &["fairway session list", "fairway session list --all"]),
    ("session show", &["fairway session show s1"]),
    ("session status", &["fairway session status s1"]),
    ("session heartbeat", &["fairway session heartbeat s1 --activity busy"]),
    ("session event", &["fairway session event --state running --provider acme --external-session-id 8"]),
    ("session end", &["fairway session end s1 --exit-code 0"]),
    ("session forget", &["fairway session forget s1"]),
    ("session reconcile", &["fairway session reconcile --dry-run"]),
    ("session attach", &["fairway session attach s1"]),
    ("session terminal", &["fairway session terminal s1"]),
    ("session structured", &["fairway session structured s1"]),
    ("session peek", &["fairway session peek s1 -n 20"]),
    ("session nudge", &["fairway session nudge s1 'continue'", "fairway session nudge s1 --queued"]),
    ("session interrupt", &["fairway session interrupt s1"]),
    ("session stop", &["fairway session stop s1 s2", "fairway session stop --lane api"]),
    ("session meta", &["fairway session meta set s1 ticket 812"]),
    ("session meta set", &["fairway session meta set s1 ticket 812"]),
    ("session meta get", &["fairway session meta get s1 ticket"]),
    ("session meta rm", &["fairway session meta rm s1 ticket"]),
    ("sidecar", &["fairway sidecar --session s1"]),
    ("sandbox", &["fairway sandbox run --lane api -- make test", "fairway sandbox check"]),
    (
        "sandbox run",
        &["fairway sandbox run --lane api -- make test", "fairway sandbox run --network open -- npm install"],
    ),
    ("sandbox check", &["fairway sandbox check", "fairway sandbox check --network open --json"]),
    ("sandbox explain", &["fairway sandbox explain api"]),
    ("exec", &["fairway exec spawn -- make test", "fairway exec list"]),
    (
        "exec spawn",
        &["fairway exec spawn -- make test", "fairway exec spawn --watch 'error=broken' --shell 'make test 2>&1'"],
    ),
    ("exec poll", &["fairway exec poll 01a200f8 --wait 30s"]),
    ("exec log", &["fairway exec log 01a200f8 --follow"]),
    ("exec wait", &["fairway exec wait 01a200f8 --timeout 10m"]),
    ("exec send-keys", &["fairway exec send-keys 01a200f8 --literal yes Enter"]),
    ("exec kill", &["fairway exec kill 01a200f8 --grace 5s"]),
    ("exec list", &["fairway exec list --unfinished"]),
    ("exec rm", &["fairway exec rm 01a200f8"]),
    ("exec gc", &["fairway exec gc --dry-run"]),
    ("exec call", &["fairway exec call --file request.json"]),
    ("exec worker", &["fairway exec worker"]),
    ("guard", &["fairway guard test --role dev --input 'git push --force'"]),
    ("guard check", &["fairway guard check --tool Bash --input '{\"command\":\"git push\"}'"]),
    ("guard test", &["fairway guard test --role dev --input 'git push --force'"]),
    ("guard log", &["fairway guard log --denied"]),
    ("guide", &["fairway guide", "fairway guide jobs"]),
    ("explain", &["fairway explain T-4", "fairway explain session s1"]),
    ("explain task", &["fairway explain task T-4"]),
    ("explain session", &["fairway explain session s1"]),
    ("start", &["fairway start 'Fix the total' --body 'It doubles' --provider {provider}", "fairway start T-4 T-5"]),
    ("status", &["fairway status", "fairway status --json"]),
    ("top", &["fairway top", "fairway top --once"]),
    ("search", &["fairway search 'rounding error'", "fairway search --kind transcript --lane api TODO"]),
    ("notify", &["fairway notify --follow", "fairway notify --test desktop"]),
    ("events", &["fairway events --of-task T-4 --since 1h", "fairway events --tail 20 --follow"]),
    ("hook", &["fairway hook install {provider}"]),
    ("hook install", &["fairway hook install {provider} --dry-run"]),
    ("hook uninstall", &["fairway hook uninstall {provider}"]),
    ("serve", &["fairway serve --open", "fairway serve --http 8080 --exit-after 8h"]),
    ("mcp", &["fairway mcp", "fairway mcp --root /srv/shop"]),
    ("skill", &["fairway skill"]),
    ("prime", &["fairway prime --mode compact"]),
    ("usage", &["fairway usage --by lane --since 7d", "fairway usage --tasks --since 7d"]),
    ("adapter", &["fairway adapter list", "fairway adapter check tmux"]),
    ("adapter list", &["fairway adapter list"]),
    ("provider", &["fairway provider list"]),
    ("provider list", &["fairway provider list"]),
    ("adapter install", &["fairway adapter install ./backends"]),
    ("adapter check", &["fairway adapter check ./backends/tmux.sh --operation start"]),
    ("trust", &["fairway trust --show", "fairway trust"]),
    ("doctor", &["fairway doctor", "fairway doctor --fix"]),
    ("doctor agents", &["fairway doctor agents --dry-run", "fairway doctor agents {provider}"]),
    ("doctor hooks", &["fairway doctor hooks {provider}"]),
    ("backup", &["fairway backup store.db"]),
    ("restore", &["fairway restore store.db", "fairway restore --latest"]),
    ("store", &["fairway store show", "fairway store copy --to postgres://fairway@db.example/team"]),
    ("store show", &["fairway store show", "fairway store show --json"]),
    ("store migrate", &["fairway store migrate"]),
    ("store copy", &["fairway store copy --to postgres://fairway@db.example/team", "fairway store copy --to sqlite"]),
    ("store restored", &["fairway store restored"]),
    ("host", &["fairway host list", "fairway host renew"]),
    ("host list", &["fairway host list", "fairway host list --json"]),
    ("host renew", &["fairway host renew"]),
    ("host retire", &["fairway host retire build1 --reason 'its disk died'"]),
    ("device", &["fairway device pair --name phone", "fairway device revoke phone"]),
    ("device pair", &["fairway device pair --name phone", "fairway device pair --read-only --expires 30d"]),
    ("device list", &["fairway device list"]),
    ("device revoke", &["fairway device revoke phone"]),
    ("config", &["fairway config show", "fairway config check"]),
    ("config show", &["fairway config show"]),
    ("config check", &["fairway config check"]),
    ("config edit", &["fairway config edit", "fairway config edit --local"]),
    ("config example", &["fairway config example"]),
    ("config schema", &["fairway config schema"]),
    ("completions", &["fairway completions bash"]),
    ("man", &["fairway man task add", "fairway man --output ~/.local/share/man/man1"]),
    ("help", &["fairway help claim", "fairway help glossary"]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command;

    fn visible(command: &clap::Command, above: &str, found: &mut Vec<String>) {
        for below in command.get_subcommands().filter(|one| !one.is_hide_set()) {
            let path = format!("{above} {}", below.get_name()).trim().to_owned();
            visible(below, &path, found);
            found.push(path);
        }
    }

    #[test]
    fn each_visible_command_has_one_or_two_examples() {
        let mut paths = Vec::new();
        visible(&command(), "", &mut paths);
        for path in &paths {
            assert!((1..=2).contains(&of(path).len()), "{path}");
        }
        for (path, _) in EXAMPLES {
            assert!(paths.iter().any(|known| known == path), "{path} is not a command");
        }
    }

    #[test]
    fn each_example_is_a_valid_call_of_its_command() {
        for (path, lines) in EXAMPLES {
            assert!(lines.len() <= 2);
            for line in of(path) {
                assert!(line.starts_with(&format!("fairway {path}")), "{path}: {line}");
                assert!(line.len() <= 78, "{line}");
                let words = shell_words::split(&line).unwrap();
                if let Err(error) = command().try_get_matches_from(&words) {
                    panic!("{line}: {error}");
                }
            }
        }
    }
}
