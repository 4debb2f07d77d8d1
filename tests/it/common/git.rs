//! A real git repository in a world's project.

use std::path::Path;

use super::TestProject;
use super::test_project::CommandOutput;

impl TestProject {
    /// Runs git in a folder, and demands success.
    #[track_caller]
    pub fn git(&self, folder: &Path, args: &[&str]) -> String {
        let mut command = self.command("git");
        command
            .current_dir(folder)
            .args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]);
        let run: CommandOutput = command.args(args).output().unwrap().into();
        run.exits(0).stdout
    }

    /// An initialised project in a repository with one commit on `main`, which carries the configuration.
    pub fn with_git() -> Self {
        let world = Self::uninitialized();
        let root = world.root();
        world.git(&root, &["init", "--quiet", "--initial-branch=main"]);
        world.run(["init", "--quiet"]).exits(0);
        std::fs::write(root.join("code.txt"), "code\n").unwrap();
        world.git(&root, &["add", "."]);
        world.git(&root, &["commit", "--quiet", "--message=begin"]);
        world
    }

    /// The branches and worktrees of the project's repository, one a line.
    pub fn branches_and_worktrees(&self) -> Vec<String> {
        let branches = self.git(&self.root(), &["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
        let worktrees = self.git(&self.root(), &["worktree", "list", "--porcelain"]);
        let worktrees = worktrees.lines().filter(|line| line.starts_with("worktree "));
        branches.lines().map(str::to_owned).chain(worktrees.map(|line| self.redacted(line))).collect()
    }
}
