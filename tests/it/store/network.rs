//! A store on a network file system.

use crate::common::test_project::CommandOutput;
use crate::common::{TestProject, require};

/// Runs a command on a project whose directory the kernel's list of mounts says to be of this type. The list is replaced in a
/// mount namespace of the command's own; the file system is one that no list of local ones has.
const ON_TYPE: &str = r#"
set -e
mount -t ramfs none "$1"
device=$(stat -c %Hd:%Ld "$1")
echo "36 35 $device / $1 rw shared:1 - $2 host:/ rw" >"$3"
mount --bind "$3" "/proc/$$/mountinfo"
cd "$1"
shift 3
"$0" init --quiet || exit
exec "$0" "$@"
"#;

fn on_type(kind: &str, allowed: bool) -> CommandOutput {
    let world = TestProject::uninitialized();
    let mut command = world.command("unshare");
    let list = world.dir().join("mountinfo");
    command.args(["--mount", "sh", "-c", ON_TYPE, crate::common::test_project::FAIRWAY]);
    command.arg(world.root()).arg(kind).arg(list).args(["task", "add", "one", "--json"]);
    if allowed {
        command.env("FAIRWAY_NETWORK_STORE", "1");
    }
    command.output().unwrap().into()
}

#[test]
fn store_on_a_network_file_system_is_refused_by_the_name_of_its_type_unless_it_is_allowed() {
    if !require::root() || !require::program("unshare") {
        return;
    }
    for kind in ["fuse.sshfs", "ceph", "lustre", "9p", "vboxsf"] {
        let run = on_type(kind, false);
        assert_eq!(run.code, Some(5), "{kind}: {run:?}");
        assert!(run.stderr.contains(kind) && run.stderr.contains("FAIRWAY_NETWORK_STORE=1"), "{kind}: {run:?}");
    }
    on_type("fuse.sshfs", true).exits(0);
    on_type("fuse.lxcfs", false).exits(0);
}
