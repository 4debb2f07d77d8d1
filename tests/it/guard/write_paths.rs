//! Writes stay in the worktree.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::{GUARD, check, world_with};

#[test]
fn path_is_judged_by_where_it_leads() {
    let world = world_with(GUARD);
    let root = world.root();
    fs::create_dir_all(root.join("src")).unwrap();
    symlink("/etc", root.join("away")).unwrap();
    symlink("../..", root.join("src/up")).unwrap();
    symlink("/nowhere/at/all", root.join("dangling")).unwrap();
    let inside = root.join("src/new.rs").display().to_string();
    let outside = root.join("src/../../x").display().to_string();
    for input in [
        json!({"file_path": inside}),
        json!({"file_path": "src/new.rs"}),
        json!({"file_path": "./src/../a"}),
        json!({"file_path": "new/deep/folder/x"}),
        json!({"notebook_path": inside}),
        json!({"edits": [{"file_path": inside}]}),
    ] {
        check(&world, "Write", &input).exits(0);
    }
    for input in [
        json!({"file_path": "/etc/passwd"}),
        json!({"file_path": outside}),
        json!({"file_path": "../x"}),
        json!({"file_path": "away/passwd"}),
        json!({"file_path": "src/up/x"}),
        json!({"file_path": "dangling"}),
        json!({"file_path": "~/x"}),
        json!({"file_path": "$HOME/x"}),
        json!({"file_path": "file:///etc/passwd"}),
        json!({"file_path": ""}),
        json!({"file_path": "a\u{0}b"}),
        json!({"file_path": 7}),
        json!({"file_path": null}),
        json!({}),
        json!({"file_path": inside, "path": "/etc/passwd"}),
        json!({"edits": [{"file_path": inside}, {"file_path": "/etc/passwd"}]}),
        json!({"notebook_path": "/etc/x.ipynb"}),
        json!({"absolute_path": "/etc/x"}),
        json!({"file_path": "new/../../x"}),
        json!({"file_path": "/proc/self/cwd/x"}),
    ] {
        for tool in ["Write", "Edit", "MultiEdit", "NotebookEdit", "write_file", "replace"] {
            check(&world, tool, &input).refuses(5, "guard_denied");
        }
    }
    let patch = |path: &str| {
        format!("*** Begin Patch\n*** Update File: src/a.rs\n@@\n-a\n+b\n*** Add File: {path}\n+x\n*** End Patch\n")
    };
    check(&world, "apply_patch", &json!({"input": patch("src/b.rs")})).exits(0);
    check(&world, "apply_patch", &json!({"command": patch("../b.rs")})).refuses(5, "guard_denied");
    check(&world, "apply_patch", &json!({"input": "nothing"})).refuses(5, "guard_denied");
}

#[test]
fn path_rules_use_the_worktree_of_session_or_lane() {
    let world = world_with(GUARD);
    let tree = world.dir().join("tree");
    fs::create_dir(&tree).unwrap();
    let set = |worktree: &str| {
        let conn = rusqlite::Connection::open(world.store()).unwrap();
        conn.execute("UPDATE agent_sessions SET worktree = ?1 WHERE id = 's1'", [worktree]).unwrap();
    };
    let input = json!({"file_path": tree.join("x")});
    check(&world, "Write", &input).refuses(5, "guard_denied");
    set(&tree.display().to_string());
    check(&world, "Write", &input).exits(0);
    check(&world, "Write", &json!({"file_path": world.root().join("x")})).refuses(5, "guard_denied");
    set("/nowhere/at/all");
    check(&world, "Write", &input).refuses(5, "guard_denied");
}

#[test]
fn shell_command_is_judged_by_what_it_writes() {
    let rule = "[[guard.rules]]\nname = \"stay\"\ntools = [\"Bash\"]\noutside = \"worktree\"\naction = \"deny\"\n";
    let world = world_with(rule);
    for text in [
        "echo a > out.txt",
        "cargo test 2>&1 | tee test.log",
        "ls > /dev/null 2>&1",
        "mkdir -p a/b && touch a/b/c",
        "mkdir -p a/b/c && touch a/b/c/../d.txt",
        "T=$(mktemp -p . t.XXXX) && mv \"$T\" x",
        "git ls-files 'src/*.rs' | xargs perl -pi -e s/a/b/",
        "GIT_INDEX_FILE=.git/index.new git add -A",
        "git config user.name ann",
        "cp /etc/hosts ./hosts",
        "cd sub && echo x > y",
        "rm -rf build",
        "cat /etc/passwd",
        "tar xzf ../a.tgz",
        "gzip -dc ../a.gz",
        "git -C .. status",
        "sed -i -e s/a/b/ -e /x/d sub/y",
        "python3 -c 'print(open(\"/etc/hosts\").read())'",
    ] {
        super::check_text(&world, text).exits(0);
    }
    for text in [
        "echo a > /etc/x",
        "echo a >> ../x",
        "echo a > ~/.bashrc",
        "echo a > $HOME/.bashrc",
        "echo a > \"$X\"",
        "cd .. && echo a > x",
        "cd / && touch x",
        "cd $X && touch x",
        "cp a /tmp/b",
        "cp -t /tmp a",
        "mv a ..",
        "tee /etc/x < a",
        "ln -s / root && touch root/x",
        "ln -s . new && touch new/../x",
        "git config core.fsmonitor ./x",
        "git config --worktree filter.z.clean ./x",
        "git config alias.x '!./run'",
        "GIT_WORK_TREE=../other git checkout -q HEAD -- a.txt",
        "GIT_DIR=../other/.git git commit -m x",
        "git --git-dir=../other/.git branch x",
        "git checkout-index --prefix=../other/ -a",
        "xxd -r -p - ../x",
        "python3 - <<'E'\nfrom pathlib import Path\nPath.home().joinpath('x').write_text('y')\nE",
        "dd if=a of=/tmp/x",
        "sed -i s/a/b/ /etc/hosts",
        "rm -rf /",
        "sh -c 'touch /tmp/x'",
        "touch $(echo /tmp/x)",
        "curl -o /tmp/x example.com",
        "tar xf a.tar -C /",
        "eval \"$X\"",
        "install a /usr/local/bin/a",
        "truncate -s 0 ../x",
        "exec 3> /tmp/x",
        "echo a &> /tmp/x",
        "echo a >| /tmp/x",
        "{ echo a; } > /tmp/x",
        "git clone x /tmp/y",
        "tar czf ../x.tgz .",
        "tar xfC a.tar ..",
        "tar -xPf a.tar",
        "gzip ../x",
        "zip ../x.zip a",
        "uniq a ../x",
        "split a ../x",
        "sed -n 'w ../x' a",
        "gawk -i inplace '{print}' ../x",
        "curl -sSLo ../x u",
        "wget -qO ../x u",
        "git -C .. checkout -- .",
        "git --work-tree=.. checkout -f",
        "git config --global a.b c",
        "git bundle create ../x HEAD",
        "git mv a ../b",
        "make -C .. x",
        "npm --prefix .. i",
        "cargo new ../x",
        "gcc a.c -o ../x",
        "mktemp -p ..",
        "python3 -c 'open(\"../x\",\"w\")'",
        "node -e 'require(\"fs\").writeFileSync(\"../x\",\"\")'",
        "CDPATH=/tmp; cd sub && touch x",
        "echo 'x",
    ] {
        super::check_text(&world, text).refuses(5, "guard_denied");
    }
}
