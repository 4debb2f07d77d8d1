//! The sections that setup adds to `.fairway.toml`.

/// The section for a project that setup creates.
pub(super) const CLAIMS: &str = "\
[claims]
own_lane_only = true # an agent of a lane claims only tasks of that lane
";

/// The first rules of a project without any.
pub(super) const GUARD: &str = "\
# What agents may run. Try a rule: fairway guard test --role dev --input 'git push --force'. After a change: fairway trust
[guard]
default = \"allow\"

[[guard.rules]]
name = \"no-force-push\"
effect = \"force-push\"
action = \"deny\"
reason = \"a force push is for people\"

[[guard.rules]]
name = \"no-rm-outside\"
tools = [\"Bash\"]
command = [\"rm\"]
outside = \"worktree\"
action = \"deny\"
reason = \"files outside of the worktree are not yours to remove\"
";
