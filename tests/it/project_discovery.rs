//! Where the project is: beside what real git makes, without asking git.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::reexec::{part, reexec};
use crate::common::test_project::CommandOutput;
use crate::common::{TestProject, scratch};

/// The root that a command finds from a folder.
#[track_caller]
fn root_from(world: &TestProject, folder: &Path, args: &[&str]) -> Result<PathBuf, String> {
    let run = found(world, folder, args);
    match run.code {
        Some(0) => {
            let file = run.json()["files"][0].as_str().unwrap().to_owned();
            Ok(PathBuf::from(file).parent().unwrap().to_path_buf())
        }
        _ => Err(run.error()["code"].as_str().unwrap().to_owned()),
    }
}

fn found(world: &TestProject, folder: &Path, args: &[&str]) -> CommandOutput {
    let mut command = world.fairway(["config", "check", "--json"]);
    command.current_dir(folder).args(args).output().unwrap().into()
}

fn config(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join(".fairway.toml"), "").unwrap();
}

/// Writes a task from a folder, and demands that the project's own store has it.
#[track_caller]
fn shares_the_store(world: &TestProject, folder: &Path, id: &str) {
    let mut command = world.fairway(["task", "add", id, "from afar"]);
    CommandOutput::from(command.current_dir(folder).output().unwrap()).exits(0);
    assert_eq!(world.json(["task", "show", id])["id"], id);
}

#[test]
fn nearest_configuration_above_is_the_project() {
    let world = TestProject::uninitialized();
    let root = world.root();
    let below = root.join("a/b");
    fs::create_dir_all(&below).unwrap();
    assert_eq!(root_from(&world, &below, &[]), Err("no_project".into()));
    config(&root);
    assert_eq!(root_from(&world, &below, &[]), Ok(root.clone()));
    // A nested project is its own.
    config(&root.join("a"));
    assert_eq!(root_from(&world, &below, &[]), Ok(root.join("a")));
    // A folder of that name is no configuration.
    fs::create_dir(below.join(".fairway.toml")).unwrap();
    assert_eq!(root_from(&world, &below, &[]), Ok(root.join("a")));
}

#[test]
fn flag_goes_before_a_variable_and_that_before_the_walk() {
    let mut world = TestProject::uninitialized();
    let (root, one, two) = (world.root(), world.dir().join("one"), world.dir().join("two"));
    for folder in [&root, &one, &two] {
        config(folder);
    }
    assert_eq!(root_from(&world, &root, &["--root", two.to_str().unwrap()]), Ok(two.clone()));
    assert_eq!(root_from(&world, &root, &["--root", "../two"]), Ok(two.clone()));
    world.set("FAIRWAY_ROOT", &one);
    assert_eq!(root_from(&world, &root, &[]), Ok(one.clone()));
    assert_eq!(root_from(&world, &root, &["--root", two.to_str().unwrap()]), Ok(two));
    // `--root` is taken as it is: Fairway looks no further up from there.
    fs::create_dir(one.join("inner")).unwrap();
    assert_eq!(root_from(&world, &root, &["--root", one.join("inner").to_str().unwrap()]), Err("no_project".into()));
    world.set("FAIRWAY_ROOT", "");
    assert_eq!(root_from(&world, &root, &[]), Ok(root));
}

#[test]
fn store_may_lie_elsewhere() {
    let mut world = TestProject::new();
    let elsewhere = world.dir().join("elsewhere/my.db");
    world.set("FAIRWAY_DB", &elsewhere);
    world.run(["task", "add", "T-1", "t"]).exits(0);
    assert!(elsewhere.is_file());
    let mut command = world.fairway(["task", "list", "--json"]);
    let here: Value = CommandOutput::from(command.env_remove("FAIRWAY_DB").output().unwrap()).exits(0).json();
    assert_eq!(here, serde_json::json!([]));
    // A relative one is meant from where the caller stands.
    let mut command = world.fairway(["task", "show", "T-1"]);
    command.env("FAIRWAY_DB", "../elsewhere/my.db");
    CommandOutput::from(command.output().unwrap()).exits(0);
}

#[test]
fn linked_worktree_is_the_main_ones() {
    let world = TestProject::with_git();
    let root = world.root();
    let tree = world.dir().join("tree");
    world.git(&root, &["worktree", "add", "--quiet", "-b", "side", tree.to_str().unwrap()]);
    fs::create_dir_all(tree.join("deep/er")).unwrap();
    assert_eq!(root_from(&world, &tree, &[]), Ok(root.clone()));
    assert_eq!(root_from(&world, &tree.join("deep/er"), &[]), Ok(root.clone()));
    shares_the_store(&world, &tree, "T-1");
    assert!(!tree.join(".fairway").exists());

    // Main's configuration counts, also when it is not committed yet.
    fs::write(root.join(".fairway.toml"), "[tasks]\nprefix = \"M\"\n").unwrap();
    fs::write(tree.join(".fairway.toml"), "[tasks]\nprefix = \"S\"\n").unwrap();
    let mut command = world.fairway(["task", "add", "made", "--quiet"]);
    let made = CommandOutput::from(command.current_dir(&tree).output().unwrap()).exits(0).stdout;
    assert_eq!(made, "M-1\n");
    fs::remove_file(tree.join(".fairway.toml")).unwrap();
    assert_eq!(root_from(&world, &tree.join("deep"), &[]), Ok(root.clone()));

    // A lane's own worktree lies inside the project, and is the project's.
    world.run(["lane", "add", "ui", "--create-worktree"]).exits(0);
    shares_the_store(&world, &root.join(".fairway/worktrees/ui"), "T-2");
    // Git moved it: the link still leads home.
    let moved = world.dir().join("moved");
    world.git(&root, &["worktree", "move", tree.to_str().unwrap(), moved.to_str().unwrap()]);
    assert_eq!(root_from(&world, &moved, &[]), Ok(root));
}

/// A store beside the worktree's files would be seen by nobody: every other command looks in the main worktree.
#[test]
fn init_in_a_linked_worktree_makes_the_main_ones_project() {
    let world = TestProject::uninitialized();
    let root = world.root();
    world.git(&root, &["init", "--quiet", "--initial-branch=main"]);
    world.git(&root, &["commit", "--quiet", "--allow-empty", "--message=begin"]);
    let tree = world.dir().join("tree");
    world.git(&root, &["worktree", "add", "--quiet", "-b", "side", tree.to_str().unwrap()]);
    for created in [5, 0] {
        let mut command = world.fairway(["init", "--json"]);
        let made = CommandOutput::from(command.current_dir(&tree).output().unwrap()).exits(0).json();
        assert_eq!(made["root"], root.to_str().unwrap());
        assert_eq!(made["created"].as_array().unwrap().len(), created, "{made}");
    }
    assert!(!tree.join(".fairway").exists() && !tree.join(".fairway.toml").exists());
    shares_the_store(&world, &tree, "T-1");
}

#[test]
fn init_creates_the_project_that_commands_find() {
    let mut world = TestProject::new();
    let inner = world.root().join("inner");
    fs::create_dir(&inner).unwrap();
    for warned in [true, false] {
        let mut command = world.fairway(["init"]);
        let run = CommandOutput::from(command.current_dir(&inner).output().unwrap()).exits(0);
        assert_eq!(run.stderr.contains("is inside the project"), warned, "{run:?}");
    }
    assert!(inner.join(".fairway/fairway.db").is_file());
    let other = world.dir().join("other");
    fs::create_dir(&other).unwrap();
    world.set("FAIRWAY_ROOT", &other);
    assert_eq!(world.json(["init"])["root"], other.to_str().unwrap());
}

#[test]
fn project_below_the_top_has_its_counterpart_below_the_top() {
    let world = TestProject::uninitialized();
    let top = world.root();
    world.git(&top, &["init", "--quiet", "--initial-branch=main"]);
    config(&top.join("sub/project"));
    world.git(&top, &["add", "."]);
    world.git(&top, &["commit", "--quiet", "--message=begin"]);
    let tree = world.dir().join("tree");
    world.git(&top, &["worktree", "add", "--quiet", "-b", "side", tree.to_str().unwrap()]);
    assert_eq!(root_from(&world, &tree.join("sub/project"), &[]), Ok(top.join("sub/project")));
    assert_eq!(root_from(&world, &tree, &[]), Err("no_project".into()));
}

#[test]
fn bare_repository_project_is_its_parent_directory() {
    let world = TestProject::with_git();
    let home = world.dir().join("bare");
    fs::create_dir(&home).unwrap();
    world.git(&home, &["clone", "--quiet", "--bare", world.root().to_str().unwrap(), "repo.git"]);
    let tree = home.join("main");
    world.git(&home.join("repo.git"), &["worktree", "add", "--quiet", tree.to_str().unwrap(), "main"]);
    // The worktree carries a configuration, but the root's own counts, and there is none yet: defaults.
    assert_eq!(found(&world, &tree, &[]).exits(0).json()["files"], serde_json::json!([]));
    config(&home);
    assert_eq!(root_from(&world, &tree, &[]), Ok(home.clone()));
    let other = home.join("other");
    world.git(&home.join("repo.git"), &["worktree", "add", "--quiet", "-b", "other", other.to_str().unwrap()]);
    let mut command = world.fairway(["task", "add", "T-1", "t"]);
    CommandOutput::from(command.current_dir(&tree).output().unwrap()).exits(0);
    let mut command = world.fairway(["task", "show", "T-1"]);
    CommandOutput::from(command.current_dir(&other).output().unwrap()).exits(0);
    assert!(home.join(".fairway/fairway.db").is_file());
}

#[test]
fn submodule_is_no_part_of_the_project_around_it() {
    let world = TestProject::with_git();
    let top = world.dir().join("top");
    fs::create_dir(&top).unwrap();
    world.git(&top, &["init", "--quiet", "--initial-branch=main"]);
    world.git(&top, &["submodule", "--quiet", "add", world.root().to_str().unwrap(), "module"]);
    assert!(top.join("module/.git").is_file());
    assert_eq!(root_from(&world, &top.join("module"), &[]), Ok(top.join("module")));
}

#[test]
fn link_to_a_project_is_the_project_and_a_broken_git_file_is_no_link() {
    let world = TestProject::with_git();
    let root = world.root();
    // Through a link the project is one and the same store.
    let link = world.dir().join("link");
    symlink(&root, &link).unwrap();
    shares_the_store(&world, &link, "T-1");
    CommandOutput::from(world.fairway(["task", "show", "T-1", "--root"]).arg(&link).output().unwrap()).exits(0);

    // Files that say they are links to a worktree, and are not.
    let strange = world.dir().join("strange");
    config(&strange);
    for text in
        ["", "gitdir: ", "gitdir: /nowhere/at/all", "gitdir: ../../../../../../..", "\u{0}\u{1}", "gitdir: .git"]
    {
        fs::write(strange.join(".git"), text).unwrap();
        assert_eq!(root_from(&world, &strange, &[]), Ok(strange.clone()), "{text:?}");
    }
    fs::write(strange.join(".git"), b"\xff\xfe").unwrap();
    assert_eq!(root_from(&world, &strange, &[]), Ok(strange));
}

/// Reads make nothing; writes make the store where only the configuration is.
#[test]
fn configuration_alone_is_a_project() {
    let world = TestProject::uninitialized();
    config(&world.root());
    assert_eq!(world.json(["task", "list"]), serde_json::json!([]));
    world.run(["task", "show", "T-1", "--json"]).refuses(3, "not_found");
    world.run(["lane", "rm", "ui", "--json"]).refuses(3, "not_found");
    assert!(!world.root().join(".fairway").exists());
    world.run(["task", "add", "T-1", "t"]).exits(0);
    assert!(world.store().is_file());
}

/// An empty `.git` makes git fail in every directory below it.
#[test]
fn test_projects_ignore_repositories_above_them() {
    const NAME: &str = "project_discovery::test_projects_ignore_repositories_above_them";
    if part().is_some() {
        let world = TestProject::new();
        assert_eq!(scratch::marker_above(world.dir()), None);
        world.run(["trust"]).exits(0);
        world.run(["task", "add", "one"]).exits(0);
        return;
    }
    let world = TestProject::uninitialized();
    for (marker, is_dir) in [(".git", true), (".git", false), (".fairway.toml", false)] {
        let above = world.dir().join(format!("above-{marker}-{is_dir}"));
        let temporary = above.join("tmp");
        fs::create_dir_all(&temporary).unwrap();
        if is_dir {
            fs::create_dir(above.join(marker)).unwrap();
        } else {
            fs::write(above.join(marker), "").unwrap();
        }
        assert_eq!(scratch::marker_above(&temporary), Some(above.join(marker)));
        let mut command = reexec(&world, NAME, "below", &temporary);
        let run = CommandOutput::from(command.env("TMPDIR", &temporary).output().unwrap()).exits(0);
        assert!(run.stdout.contains("1 passed"), "{run:#?}");
    }
}

#[test]
fn deleted_working_directory_is_named_and_nothing_is_created_elsewhere() {
    let world = TestProject::new();
    let gone = world.dir().join("gone");
    fs::create_dir(&gone).unwrap();
    let run = |words: &str| -> CommandOutput {
        let text = format!("cd {0} && rmdir {0} && exec \"$1\" {words}", gone.display());
        fs::create_dir_all(&gone).unwrap();
        let binary = crate::common::test_project::FAIRWAY;
        world.command("sh").args(["-c", &text, "sh", binary]).output().unwrap().into()
    };
    for words in ["ready --json", "init --json", "status --json"] {
        let error = run(words).refuses(3, "no_project").error();
        assert_eq!(error["message"], "the working directory cannot be used: it was deleted", "{words}");
    }
    // A project that is named is found.
    run(&format!("--root {} ready", world.root().display())).exits(0);
}

#[test]
fn empty_or_foreign_git_entry_is_no_repository() {
    let world = TestProject::with_git();
    let sub = world.root().join("sub");
    fs::create_dir(&sub).unwrap();
    fs::create_dir(sub.join(".git")).unwrap();
    assert_eq!(fairway_core::config::project::worktree_top(&sub), world.root().canonicalize().ok());
    fs::remove_dir(sub.join(".git")).unwrap();
    fs::write(sub.join(".git"), "").unwrap();
    assert_eq!(fairway_core::config::project::worktree_top(&sub), world.root().canonicalize().ok());
    fs::remove_file(sub.join(".git")).unwrap();
    symlink("/dev/null", sub.join(".git")).unwrap();
    assert_eq!(fairway_core::config::project::worktree_top(&sub), world.root().canonicalize().ok());
    // Work below it belongs to the repository above.
    let run: CommandOutput = world.fairway(["task", "add", "one"]).current_dir(&sub).output().unwrap().into();
    run.exits(0);
}

/// Damage and repair of a lane judge a record by one function. Git writes the path absolute or relative to the record.
#[test]
fn record_of_a_worktree_leads_here_elsewhere_or_nowhere() {
    use fairway_core::config::project::{WayBack, way_back};
    let world = TestProject::with_git();
    for name in ["one", "two"] {
        world.git(&world.root(), &["worktree", "add", "--quiet", &format!("../{name}")]);
    }
    let top = world.dir().join("one");
    let record = world.root().join(".git/worktrees/one");
    assert_eq!(way_back(&record, &top), WayBack::Here);
    for (back, leads) in [
        ("../../../../one/.git", WayBack::Here),
        ("../../../../two/.git", WayBack::Elsewhere),
        ("/no/such/worktree/.git", WayBack::Gone),
        ("", WayBack::Elsewhere),
    ] {
        fs::write(record.join("gitdir"), format!("{back}\n")).unwrap();
        assert_eq!(way_back(&record, &top), leads, "{back}");
    }
    fs::remove_file(record.join("gitdir")).unwrap();
    assert_eq!(way_back(&record, &top), WayBack::Gone);
}
