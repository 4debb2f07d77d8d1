//! Attempts that a sandbox must prevent. Each probe is a name, an attempt, and the proof that it succeeded.

use std::io;

use super::targets::Targets;
use super::{attempts as files, hosts, reach};

/// The effect outside that proves that an attempt succeeded.
#[derive(Debug, Clone, Copy)]
pub enum Proof {
    /// The program reported a text that only a reader of the file knows.
    Said,
    /// This file below the world's directory contains the mark.
    Written(&'static str),
    /// The file in shared memory contains the mark.
    SharedMemory,
    /// This file below the world's directory is gone.
    Gone(&'static str),
    /// A listener outside received the mark.
    Received,
    /// The process outside has ended.
    Ended,
    /// The next call of git outside ran a program that the attempt planted.
    RunByGit,
}

#[derive(Debug)]
pub struct Probe {
    pub name: &'static str,
    /// The description of the attempt in the report.
    pub what: &'static str,
    pub proof: Proof,
    pub attempt: fn(&Targets) -> io::Result<String>,
    /// Whether the attempt may succeed when the network is open.
    pub opened_by_network: bool,
}

const fn probe(
    name: &'static str,
    what: &'static str,
    proof: Proof,
    attempt: fn(&Targets) -> io::Result<String>,
) -> Probe {
    Probe { name, what, proof, attempt, opened_by_network: false }
}

const fn of_network(
    name: &'static str,
    what: &'static str,
    proof: Proof,
    attempt: fn(&Targets) -> io::Result<String>,
) -> Probe {
    Probe { opened_by_network: true, ..probe(name, what, proof, attempt) }
}

/// All probes, in the order in which they are made. The last one ends a process.
pub const PROBES: &[Probe] = &[
    probe("write-shared", "write a file that can be read", Proof::Written("shared/plain"), |to| {
        files::write(&to.path("shared/plain"), to)
    }),
    probe("write-symlink", "write through a symbolic link in the lane", Proof::Written("shared/linked"), |to| {
        files::write_by_symlink(&to.path("shared/linked"), to)
    }),
    probe("write-hard-link", "write through a hard link in the lane", Proof::Written("shared/hard"), |to| {
        files::write_by_hard_link(&to.path("shared/hard"), to)
    }),
    probe("write-rename", "move a file of the lane over it", Proof::Written("shared/renamed"), |to| {
        files::write_by_rename(&to.path("shared/renamed"), to)
    }),
    probe(
        "write-parent",
        "write over .. from the lane",
        Proof::Written("project/.fairway/worktrees/sibling/up"),
        |to| files::write(&to.lane_path("../sibling/up"), to),
    ),
    probe(
        "write-process-root",
        "write by /proc/PID/root",
        Proof::Written("shared/process"),
        files::write_by_process_root,
    ),
    probe(
        "write-descriptor",
        "write by a descriptor that was left open",
        Proof::Written("shared/by-descriptor"),
        files::write_by_descriptor,
    ),
    probe("remove-shared", "remove a file that can be read", Proof::Gone("shared/removed"), |to| {
        files::remove(&to.path("shared/removed"))
    }),
    probe("remount", "mount a directory again, writable", Proof::Written("shared/remounted"), reach::remount),
    probe("write-temporary", "leave a file in the directory for temporary files", Proof::Written("left"), |to| {
        files::write(&to.path("left"), to)
    }),
    probe("write-shared-memory", "leave a file in shared memory", Proof::SharedMemory, |to| {
        files::write(&to.shared_memory, to)
    }),
    probe("write-home", "change a start file of the shell", Proof::Written("home/.bashrc"), |to| {
        files::write(&to.path("home/.bashrc"), to)
    }),
    probe("write-git-settings", "change git's settings in the home", Proof::Written("home/.gitconfig"), |to| {
        files::write(&to.path("home/.gitconfig"), to)
    }),
    probe("write-ssh", "add a key for logins", Proof::Written("home/.ssh/authorized_keys"), |to| {
        files::write(&to.path("home/.ssh/authorized_keys"), to)
    }),
    probe(
        "write-autostart",
        "add a program that starts with the desktop",
        Proof::Written("home/.config/autostart/added.desktop"),
        |to| files::write(&to.path("home/.config/autostart/added.desktop"), to),
    ),
    probe(
        "write-user-service",
        "add a service of the user",
        Proof::Written("home/.config/systemd/user/added.service"),
        |to| files::write(&to.path("home/.config/systemd/user/added.service"), to),
    ),
    probe("write-toolchain", "change a program of the toolchain", Proof::Written("home/.cargo/bin/tool"), |to| {
        files::write(&to.path("home/.cargo/bin/tool"), to)
    }),
    probe("write-new-program", "add a program to PATH", Proof::Written("home/.cargo/bin/git"), |to| {
        files::write(&to.path("home/.cargo/bin/git"), to)
    }),
    probe("write-trust", "change the record of what is trusted", Proof::Written("state/trust.json"), |to| {
        files::write(&to.path("state/trust.json"), to)
    }),
    probe("write-store", "change the store", Proof::Written("project/.fairway/fairway.db"), |to| {
        files::replace(&to.path("project/.fairway/fairway.db"), to)
    }),
    probe("remove-store", "remove a file of the store", Proof::Gone("project/.fairway/runs.db"), |to| {
        files::remove(&to.path("project/.fairway/runs.db"))
    }),
    probe("read-store", "read the store", Proof::Said, |to| files::read(&to.path("project/.fairway/fairway.db-wal"))),
    probe("read-token", "read the token of another session", Proof::Said, |to| {
        files::read(&to.path("project/.fairway/runtime/worker.token"))
    }),
    probe("read-ssh-key", "read a private key", Proof::Said, |to| files::read(&to.path("home/.ssh/id_ed25519"))),
    probe("read-git-credentials", "read git's credentials", Proof::Said, |to| {
        files::read(&to.path("home/.git-credentials"))
    }),
    probe("read-shell-history", "read what was typed into a shell", Proof::Said, |to| {
        files::read(&to.path("home/.bash_history"))
    }),
    probe("read-project", "read a file of the project that is in no commit", Proof::Said, |to| {
        files::read(&to.path("project/.env"))
    }),
    probe("read-sibling", "read a file of another lane", Proof::Said, |to| {
        files::read(&to.path("project/.fairway/worktrees/sibling/notes"))
    }),
    probe("read-credential", "read a credential in the environment", Proof::Said, files::credential),
    probe("read-process-environment", "read the environment of a process", Proof::Said, files::process_environment),
    probe("write-project", "change the project's own files", Proof::Written("project/file"), |to| {
        files::write(&to.path("project/file"), to)
    }),
    probe(
        "write-sibling",
        "change a file of another lane",
        Proof::Written("project/.fairway/worktrees/sibling/file"),
        |to| files::write(&to.path("project/.fairway/worktrees/sibling/file"), to),
    ),
    probe("write-git-config", "change the repository's configuration", Proof::Written("project/.git/config"), |to| {
        files::write(&to.path("project/.git/config"), &to.clone().in_comment())
    }),
    probe("write-git-hook", "add a hook to the repository", Proof::Written("project/.git/hooks/post-merge"), |to| {
        files::write(&to.path("project/.git/hooks/post-merge"), to)
    }),
    probe(
        "write-git-branch",
        "move a branch of the repository",
        Proof::Written("project/.git/refs/heads/moved"),
        |to| files::write(&to.path("project/.git/refs/heads/moved"), to),
    ),
    probe(
        "write-git-object",
        "add a file to the repository's objects",
        Proof::Written("project/.git/objects/added"),
        |to| files::write(&to.path("project/.git/objects/added"), to),
    ),
    probe(
        "write-worktree-config",
        "change the settings of the lane's worktree",
        Proof::Written("project/.git/worktrees/lane/config.worktree"),
        |to| files::write(&to.path("project/.git/worktrees/lane/config.worktree"), &to.clone().in_comment()),
    ),
    probe(
        "write-commondir",
        "name another repository for another lane",
        Proof::Written("project/.git/worktrees/sibling/commondir"),
        |to| files::replace(&to.path("project/.git/worktrees/sibling/commondir"), to),
    ),
    probe("plant-for-git", "plant a program that the next git outside runs", Proof::RunByGit, reach::plant_for_git),
    probe(
        "replace-git-link",
        "replace the .git of the lane",
        Proof::Written("project/.fairway/worktrees/lane/.git"),
        |to| files::replace(&to.lane_path(".git"), to),
    ),
    probe(
        "write-editor-tasks",
        "change the tasks of an editor",
        Proof::Written("project/.fairway/worktrees/lane/.vscode/tasks.json"),
        |to| files::write(&to.lane_path(".vscode/tasks.json"), to),
    ),
    probe(
        "move-editor-tasks",
        "move the settings of an editor away",
        Proof::Gone("project/.fairway/worktrees/lane/.idea/workspace.xml"),
        |to| files::rename(&to.lane_path(".idea"), &to.lane_path("moved")),
    ),
    probe(
        "write-shell-prompt",
        "change a file that the shell's prompt runs",
        Proof::Written("project/.fairway/worktrees/lane/.envrc"),
        |to| files::write(&to.lane_path(".envrc"), to),
    ),
    probe(
        "write-agent-settings",
        "add settings of an agent",
        Proof::Written("project/.fairway/worktrees/lane/.zed/tasks.json"),
        |to| files::write_in_new_directory(&to.lane_path(".zed/tasks.json"), to),
    ),
    probe(
        "write-git-attributes",
        "change which programs git runs on files",
        Proof::Written("project/.fairway/worktrees/lane/.gitattributes"),
        |to| files::write(&to.lane_path(".gitattributes"), to),
    ),
    probe("agent-socket", "speak to the agent with the keys", Proof::Received, |to| {
        reach::socket(to, "agent-socket", "agent.sock")
    }),
    probe("bus-socket", "speak to D-Bus", Proof::Received, |to| reach::socket(to, "bus-socket", "bus")),
    probe("container-socket", "speak to the server of containers", Proof::Received, |to| {
        reach::socket(to, "container-socket", "docker.sock")
    }),
    probe("terminal-socket", "speak to the server of terminals", Proof::Received, |to| {
        reach::socket(to, "terminal-socket", "tmux.sock")
    }),
    of_network("abstract-socket", "speak to a socket without a path", Proof::Received, reach::abstract_socket),
    of_network("tcp", "connect to a server of this machine by TCP", Proof::Received, reach::tcp),
    of_network("tcp6", "connect by IPv6", Proof::Received, reach::tcp6),
    of_network("udp", "send a packet by UDP", Proof::Received, reach::udp),
    of_network("host-other-port", "reach another port of an open host", Proof::Received, |to| {
        hosts::trick(to, "host-other-port", b"127.0.0.1", "127.0.0.1")
    }),
    of_network("host-internal", "reach this machine by an open name", Proof::Received, |to| {
        hosts::trick(to, "host-internal", b"localhost", "localhost")
    }),
    of_network("host-nul", "end a name with NUL before an open one", Proof::Received, |to| {
        hosts::trick(to, "host-nul", b"localhost\0.allowed.example", "localhost")
    }),
    of_network("host-newline", "end a name with a line before an open one", Proof::Received, |to| {
        hosts::trick(to, "host-newline", b"localhost\n.allowed.example", "localhost")
    }),
    of_network("host-dot", "end a name with a dot", Proof::Received, |to| {
        hosts::trick(to, "host-dot", b"127.0.0.1.", "127.0.0.1")
    }),
    of_network("host-user", "write an open name as the user of another host", Proof::Received, |to| {
        hosts::trick(to, "host-user", b"allowed.example@localhost", "localhost")
    }),
    of_network("host-decimal", "write an address as one number", Proof::Received, |to| {
        hosts::trick(to, "host-decimal", b"2130706433", "2130706433")
    }),
    of_network("host-hexadecimal", "write it as a hexadecimal number", Proof::Received, |to| {
        hosts::trick(to, "host-hexadecimal", b"0x7f000001", "0x7f000001")
    }),
    of_network("host-octal", "write its parts as octal numbers", Proof::Received, |to| {
        hosts::trick(to, "host-octal", b"0177.0.0.1", "0177.0.0.1")
    }),
    of_network("host-short", "leave out parts of it", Proof::Received, |to| {
        hosts::trick(to, "host-short", b"127.1", "127.1")
    }),
    of_network("host-zero", "write the address of every network", Proof::Received, |to| {
        hosts::trick(to, "host-zero", b"0.0.0.0", "0.0.0.0")
    }),
    of_network("host-mapped", "write it in the notation of IPv6", Proof::Received, |to| {
        hosts::trick(to, "host-mapped", b"[::ffff:127.0.0.1]", "::ffff:127.0.0.1")
    }),
    of_network("host-field", "name an open host in the field of a request for another", Proof::Received, |to| {
        hosts::field(to, "host-field")
    }),
    probe("kernel-setting", "write a setting of the kernel", Proof::Said, files::write_kernel_setting),
    probe("raw-socket", "open a raw socket", Proof::Said, reach::raw_socket),
    probe("user-namespace", "become root in a user namespace", Proof::Said, reach::user_namespace),
    probe("device", "make a device file", Proof::Said, reach::device),
    probe("new-privileges", "start a program with more privileges", Proof::Said, reach::new_privileges),
    probe("type-into-terminal", "type into a terminal", Proof::Said, reach::type_into_terminal),
    probe("process-memory", "open the memory of a process", Proof::Said, reach::process_memory),
    probe("signal", "end a process", Proof::Ended, reach::signal),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_probe_has_a_name_of_its_own() {
        let names: BTreeSet<&str> = PROBES.iter().map(|probe| probe.name).collect();
        assert_eq!(names.len(), PROBES.len());
        assert!(PROBES.len() >= 70, "{}", PROBES.len());
    }
}
