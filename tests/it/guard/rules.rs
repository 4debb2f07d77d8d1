//! Roles, defaults, and which rule wins.

use fairway_core::guard::{Action, DefaultAction, Rule, Rules};
use serde_json::json;

use super::{check, check_text, judged, world_with};

fn rule(name: &str, action: Action, command: &[&str], flags: &[&str]) -> Rule {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    Rule {
        name: name.into(),
        tools: words(&["Bash"]),
        roles: Vec::new(),
        command: words(command),
        flags: words(flags),
        effect: None,
        outside: false,
        paths: Vec::new(),
        action,
        reason: None,
    }
}

fn rules(usual: DefaultAction, rules: Vec<Rule>) -> Rules {
    Rules { default_action: usual, roles: Vec::new(), rules }
}

#[test]
fn role_entry_replaces_the_default() {
    let world = world_with(
        "[guard.roles.worker]\nallow = [\"Read\", \"mcp__docs__*\"]\n[guard.roles.other]\ndeny = [\"Read\"]\n",
    );
    check(&world, "Read", &json!({})).exits(0);
    check(&world, "mcp__docs__search", &json!({})).exits(0);
    for tool in ["Bash", "Write", "read", "Reader", "mcp__other__search", "", " "] {
        check(&world, tool, &json!({})).refuses(5, "guard_denied");
    }
    let world = world_with("[guard]\ndefault = \"deny\"\n");
    check(&world, "Read", &json!({})).refuses(5, "guard_denied");
    let world = world_with("[guard]\n");
    check(&world, "Read", &json!({})).exits(0);
    let world = world_with("[guard.roles.worker]\ndeny = [\"Bash\"]\n");
    check(&world, "run_shell_command", &json!({"command": "ls"})).refuses(5, "guard_denied");
    check(&world, "Read", &json!({})).exits(0);
}

#[test]
fn deny_beats_allow() {
    let both = rules(
        DefaultAction::Deny,
        vec![
            rule("allow-git", Action::Allow, &["git"], &[]),
            rule("allow-ls", Action::Allow, &["ls"], &[]),
            rule("no-push", Action::Deny, &["git", "push"], &[]),
        ],
    );
    for text in ["git status", "ls", "ls -la && git log -3", "git diff | ls", "git status 2>&1", "ls > /dev/null"] {
        let judged = judged(&both, text);
        assert!(judged.allowed && judged.explicitly_allowed, "{text}: {judged:?}");
    }
    for text in [
        "git push", "git -C x push", "cargo test", "ls; cargo test", "ls $(rm x)", "ls > out", "/tmp/ls",
        "./git status", "sudo ls", "PATH=/tmp ls", "X=1; ls", "X=1", "ls() { rm x; }; ls", "sh -c ls", "$X",
        "git \"$X\"", "ls '", "", "alias ls=rm; ls", "env ls", "ls <(rm x)", "eval ls",
    ] {
        let judged = judged(&both, text);
        assert!(!judged.allowed, "{text}: {judged:?}");
    }
}

#[test]
fn flags_are_found_in_every_spelling_and_others_are_not() {
    for (command, flags, text, denied) in [
        (&["rm"][..], &["-r"][..], "rm -rf x", true),
        (&["rm"], &["-r"], "rm --recursive x", true),
        (&["rm"], &["-r"], "rm -R x", true),
        (&["rm"], &["-r"], "rm x", false),
        (&["rm"], &["-r"], "rm -f x", false),
        (&["rm"], &["-r"], "rm x -fr", true),
        (&["rm"], &["-rf"], "rm -r -f x", true),
        (&["rm"], &["-rf"], "rm -fr x", true),
        (&["rm"], &["-rf"], "rm -r x", false),
        (&["rm"], &[], "/bin/rm x", true),
        (&["rm"], &[], "echo rm x", false),
        (&["npm", "publish"], &[], "npm publish", true),
        (&["npm", "publish"], &[], "npm --registry x publish", true),
        (&["npm", "publish"], &[], "npm --registry=x publish --tag y", true),
        (&["npm", "publish"], &[], "npm run publish", false),
        (&["npm", "publish"], &[], "npm $X", true),
        (&["npm", "publish"], &[], "npm test", false),
        (&["npm", "publish"], &[], "npm pub", true),
        (&["npm", "publish"], &[], "npx -y npm@10 publish", true),
        (&["npm", "publish"], &[], "node /usr/lib/node_modules/npm/bin/npm-cli.js publish", true),
        (&["npm", "publish"], &[], "NPM.cmd publish", true),
        (&["npm", "publish"], &[], "npm pack", false),
        (&["curl"], &[], "rg --pre curl x .", true),
        (&["curl"], &[], "tar -Icurl -cf x y", true),
        (&["curl"], &[], "git rebase -ixcurl HEAD~1", true),
        (&["docker", "compose", "down"], &["-v"], "docker compose -f a.yml down -v", true),
        (&["docker", "compose", "down"], &["-v"], "docker-compose down -v", true),
        (&["docker", "compose", "down"], &["-v"], "docker compose up -v", false),
        (&["find"], &["-delete"], "find . -delete", true),
        (&["find"], &["-delete"], "find . -name delete", false),
        (&["git", "push"], &["origin"], "git push origin", true),
        (&["git", "push"], &["release/*"], "git push origin release/1", true),
        (&["git", "push"], &["release/*"], "git push origin main", false),
        (&["git", "push"], &["--delete"], "git push origin :old", true),
        (&["git", "push"], &["--delete"], "git push origin '':main", true),
        (&["git", "push"], &["--delete"], "git branch -r | xargs -I % git push origin :%", true),
        (&["git", "push"], &["--delete"], "git push origin main:main", false),
        (&["git", "push"], &["--force"], "sed -i s/fetch/push/ .git/config && git push origin", true),
        (&["git", "push"], &["--force"], "perl -pi -e s/fetch/push/ .git/config; git push", true),
        (&["git", "push"], &["--force"], "sed -i s/a/b/ src/main.c && git push origin", false),
        (&["git", "push"], &["--force"], "sed -n 1p .git/config && git push origin", false),
        (&["git", "commit"], &["--no-verify"], "git commit -n -m x", true),
        (&["git", "commit"], &["--no-verify"], "git commit -m x", false),
        (&["git", "merge"], &["--strategy=ours"], "git merge --strategy ours x", true),
        (&["git", "merge"], &["--strategy=ours"], "git merge --strategy=theirs x", false),
        (&["rm"], &["-rf"], "rm -Rf x", true),
        (&["rm"], &["-rf"], "rm -R -f x", true),
        (&["rm"], &["-rf"], "rm -r --force x", true),
        (&["rm"], &["-rf"], "rm --recursive -f x", true),
        (&["rm"], &["-rf"], "rm --recursive --force x", true),
        (&["rm"], &["-rf"], "rm --rec --forc x", true),
        (&["rm"], &["-rf"], "rm -Rvf x", true),
        (&["rm"], &["-rf"], "rm --recursive x", false),
        (&["rm"], &["-rf"], "rm -fv x", false),
        (&["make", "deploy"], &[], "make ENV=prod deploy", true),
        (&["make", "deploy"], &[], "make build deploy", true),
        (&["make", "deploy"], &[], "gmake -j4 deploy", true),
        (&["make", "deploy"], &[], "make build", false),
        (&["pip", "install"], &[], "pip3 install x", true),
        (&["pip", "install"], &[], "pip3.11 install x", true),
        (&["pip", "install"], &[], "python3.11 -m pip install x", true),
        (&["pip3", "install"], &[], "pip install x", true),
        (&["pip", "install"], &[], "pip3 list", false),
        (&["docker", "rm"], &["-f"], "docker container rm --force x", true),
        (&["docker", "container", "rm"], &[], "docker rm x", true),
        (&["docker", "run"], &["--privileged"], "docker container run --privileged x", true),
        (&["docker", "compose", "down"], &["-v"], "docker compose down --volumes", true),
        (&["docker", "rm"], &[], "docker image rm x", false),
        (&["helm", "uninstall"], &[], "helm delete x", true),
        (&["npm", "install"], &[], "npm add x", true),
        (&["npm", "run", "deploy"], &[], "npm run-script deploy", true),
        (&["npm", "run", "deploy"], &[], "npm run build", false),
        (&["gcloud", "projects", "delete"], &[], "gcloud beta projects delete x", true),
        (&["gcloud", "projects", "delete"], &[], "gcloud beta projects list", false),
        (&["curl"], &[], "ls $x", false),
        (&["curl"], &[], "x=curl; $x", true),
    ] {
        let rules = rules(DefaultAction::Allow, vec![rule("r", Action::Deny, command, flags)]);
        assert_eq!(!judged(&rules, text).allowed, denied, "{command:?} {flags:?}: {text}");
    }
}

#[test]
fn rules_apply_only_to_their_roles_and_paths() {
    let world = world_with(
        "[[guard.rules]]\nname = \"a\"\ntools = [\"Read\", \"Bash\"]\npaths = [\"secrets/**\", \".env\"]\naction = \"deny\"\n\
         [[guard.rules]]\nname = \"b\"\ntools = [\"WebFetch\"]\nroles = [\"qa\"]\naction = \"deny\"\n",
    );
    check(&world, "WebFetch", &json!({"url": "x"})).exits(0);
    for path in ["secrets/a", "./secrets/../.env", ".env", "secrets"] {
        check(&world, "Read", &json!({"file_path": path})).refuses(5, "guard_denied");
        check_text(&world, &format!("cat {path}")).refuses(5, "guard_denied");
    }
    check(&world, "Read", &json!({"file_path": "src/a"})).exits(0);
    check_text(&world, "cat src/a").exits(0);
    check_text(&world, "cd secrets && cat a").refuses(5, "guard_denied");
    check_text(&world, "cat $X").refuses(5, "guard_denied");
}
