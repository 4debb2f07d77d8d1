//! The identity of this machine and of its current boot.

use std::path::{Path, PathBuf};
use std::sync::{LazyLock, OnceLock, PoisonError, RwLock};
use std::{fs, io};

use super::{digest, files, random};

/// Where systemd and D-Bus keep the machine's id.
const MACHINE_ID: &str = "/etc/machine-id";
/// The file of the id, in Fairway's state directory, of a machine that has no id. An id that replaces a machine's is in
/// `host-id-DIGEST`, with a digest of the machine's id: machines that share a home directory keep their own.
const OWN_ID: &str = "host-id";
/// The length of an id in hexadecimal digits.
const ID_DIGITS: usize = 32;

/// Fairway's state directory, for an id that is not the machine's.
static STATE_DIR: OnceLock<PathBuf> = OnceLock::new();
static MACHINE: RwLock<Option<String>> = RwLock::new(None);
static NAMESPACE: LazyLock<Option<String>> = LazyLock::new(read_namespace);

/// The local host, as rows name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostIdentity {
    /// The host's name and the pid namespace: for people, and for rows that have no id.
    pub name: String,
    /// The machine's id and the pid namespace: it stays when the host is renamed or booted again. `None` when the machine has
    /// no id yet.
    pub id: Option<String>,
}

impl HostIdentity {
    /// Whether a row of the store that names this host belongs to the local host. A row without an id, which an earlier version
    /// wrote, is compared by name.
    pub fn owns(&self, host: &str, host_id: Option<&str>) -> bool {
        match host_id {
            Some(id) => self.id.as_deref() == Some(id),
            None => self.name == host,
        }
    }

    /// Whether a host id belongs to this machine, in any pid namespace.
    pub fn is_of_machine(&self, host_id: &str) -> bool {
        let machine = |id: &str| id.split_once('/').map_or_else(|| id.to_owned(), |(machine, _)| machine.to_owned());
        self.id.as_deref().map(machine) == Some(machine(host_id))
    }
}

/// The machine's host name; `localhost` when it is unknown.
pub fn name() -> String {
    nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok()).unwrap_or_else(|| "localhost".into())
}

/// Sets Fairway's state directory. It holds the host id that Fairway makes for a machine without one, or instead of the
/// machine's. Only the first call counts.
pub fn set_state_dir(dir: &Path) {
    let _ = STATE_DIR.set(dir.to_owned());
}

/// The local host, with the id that this process has already read, if any. A machine without an id does not get one.
pub fn identity() -> HostIdentity {
    let known = MACHINE.read().unwrap_or_else(PoisonError::into_inner).clone();
    identity_of(known.or_else(|| remember(current_id(Path::new(MACHINE_ID), STATE_DIR.get().map(PathBuf::as_path)))))
}

/// The local host, for a row that is about to be written. A machine without an id gets one, in the state directory. Unlike
/// [`identity`], this sees an id that was renewed since the process began.
pub fn identity_to_record() -> HostIdentity {
    let (machine, dir) = (Path::new(MACHINE_ID), STATE_DIR.get().map(PathBuf::as_path));
    let found = current_id(machine, dir).or_else(|| {
        // Without a place for an id the row matches by name.
        let _ = write_id(&dir?.join(OWN_ID), false);
        current_id(machine, dir)
    });
    identity_of(remember(found))
}

/// Gives the local host a new random id, which is used instead of the machine's from now on. Returns the old and the new
/// identity.
pub fn renew_identity() -> io::Result<(HostIdentity, HostIdentity)> {
    let no_home = || io::Error::new(io::ErrorKind::NotFound, "there is no home directory to keep it in");
    let dir = STATE_DIR.get().ok_or_else(no_home)?;
    let before = identity();
    write_id(&renewed_file(machine_id(Path::new(MACHINE_ID)).as_deref(), dir), true)?;
    Ok((before, identity_to_record()))
}

fn remember(id: Option<String>) -> Option<String> {
    MACHINE.write().unwrap_or_else(PoisonError::into_inner).clone_from(&id);
    id
}

fn identity_of(machine: Option<String>) -> HostIdentity {
    let named = |of: &str| NAMESPACE.as_ref().map(|namespace| format!("{of}/{namespace}"));
    // Without its pid namespace a host is not told from a container of it.
    HostIdentity { name: named(&name()).unwrap_or_else(name), id: machine.and_then(|id| named(&id)) }
}

/// The id of the host: one that was given instead of the machine's, else the machine's, else its own.
fn current_id(machine: &Path, dir: Option<&Path>) -> Option<String> {
    let of_machine = machine_id(machine);
    dir.and_then(|dir| own_id(&renewed_file(of_machine.as_deref(), dir))).or(of_machine)
}

/// The file of the id that is used instead of the machine's; of a machine without one, that of its own.
fn renewed_file(machine: Option<&str>, dir: &Path) -> PathBuf {
    dir.join(machine.map_or_else(|| OWN_ID.to_owned(), |id| format!("{OWN_ID}-{id}")))
}

/// A digest of the machine's id, which is not meant to be handed out; `None` when it is missing or not set up.
fn machine_id(file: &Path) -> Option<String> {
    let id = fs::read_to_string(file).ok()?;
    let id = id.trim();
    let is_id = id.len() == ID_DIGITS && id.chars().all(|digit| digit.is_ascii_hexdigit());
    if !is_id || id.chars().all(|digit| digit == '0') {
        return None;
    }
    digest::sha256_hex(format!("fairway host {id}").as_bytes()).get(..ID_DIGITS).map(str::to_owned)
}

fn own_id(file: &Path) -> Option<String> {
    let id = fs::read_to_string(file).ok()?;
    Some(id.trim().to_owned()).filter(|id| id.len() == ID_DIGITS && id.chars().all(|digit| digit.is_ascii_hexdigit()))
}

/// Writes a random id. Without `replace` the id of a file that is there stays.
fn write_id(file: &Path, replace: bool) -> io::Result<()> {
    let dir = file.parent().unwrap_or_else(|| Path::new("/"));
    files::private_dir(dir)?;
    let id = random::hex()?;
    let id = id.get(..ID_DIGITS).unwrap_or_default().as_bytes();
    if replace {
        return files::write_atomic(file, id, 0o600);
    }
    let draft = dir.join(format!(".{OWN_ID}.{}.tmp", std::process::id()));
    files::write_atomic(&draft, id, 0o600)?;
    // Of several processes the first one's id stays.
    let done = fs::hard_link(&draft, file);
    let _ = fs::remove_file(&draft);
    done
}

fn read_namespace() -> Option<String> {
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(namespace.to_str()?.trim_start_matches("pid:[").trim_end_matches(']').to_owned())
}

/// The id of the current boot; empty when unknown.
pub fn boot_id() -> String {
    // Cached: it is read with every process, and no process outlives its boot.
    static BOOT: LazyLock<String> = LazyLock::new(read_boot_id);
    BOOT.clone()
}

fn read_boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|text| text.trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn host(name: &str, id: Option<&str>) -> HostIdentity {
        HostIdentity { name: name.into(), id: id.map(str::to_owned) }
    }

    #[test]
    fn renamed_host_owns_its_rows_and_two_of_one_name_differ() {
        let renamed = host("new/1", Some("a/1"));
        assert!(renamed.owns("old/1", Some("a/1")));
        // Two containers of one name, on one machine and on two.
        assert!(!renamed.owns("new/1", Some("a/2")));
        assert!(!renamed.owns("new/1", Some("b/1")));
        // A row of an earlier version.
        assert!(renamed.owns("new/1", None));
        assert!(!renamed.owns("old/1", None));
        assert!(!host("new/1", None).owns("new/1", Some("a/1")));
        assert!(renamed.is_of_machine("a/2"));
        assert!(!renamed.is_of_machine("b/1"));
        assert!(!host("new/1", None).is_of_machine("a/1"));
    }

    #[test]
    fn unset_machine_id_counts_as_none_and_an_id_of_its_own_is_made_once() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("machine-id");
        for text in ["", "uninitialized\n", "00000000000000000000000000000000\n"] {
            fs::write(&file, text).unwrap();
            assert_eq!(machine_id(&file), None, "{text:?}");
        }
        fs::write(&file, "3d1219c7c4c5404aaa1f6d2a48adfda4\n").unwrap();
        let id = machine_id(&file).unwrap();
        assert_eq!((id.len(), id.contains("3d1219c7")), (ID_DIGITS, false));

        let own = home.path().join("state").join(OWN_ID);
        assert_eq!(own_id(&own), None);
        write_id(&own, false).unwrap();
        let made = own_id(&own).unwrap();
        assert!(write_id(&own, false).is_err());
        assert_eq!(own_id(&own), Some(made));
        assert_eq!(fs::read_dir(own.parent().unwrap()).unwrap().count(), 1);
        assert_eq!(fs::metadata(&own).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn renewed_id_goes_before_that_of_its_machine_and_of_no_other() {
        let home = tempfile::tempdir().unwrap();
        let (state, file) = (home.path().join("state"), home.path().join("machine-id"));
        let other = home.path().join("other-machine-id");
        fs::write(&file, "3d1219c7c4c5404aaa1f6d2a48adfda4\n").unwrap();
        fs::write(&other, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n").unwrap();
        // An id that the machine had before it got one of its own does not count.
        write_id(&state.join(OWN_ID), false).unwrap();
        assert_eq!(current_id(&file, Some(&state)), machine_id(&file));
        let renewed = renewed_file(machine_id(&file).as_deref(), &state);
        write_id(&renewed, true).unwrap();
        let first = current_id(&file, Some(&state)).unwrap();
        assert_ne!(Some(&first), machine_id(&file).as_ref());
        write_id(&renewed, true).unwrap();
        assert_ne!(current_id(&file, Some(&state)), Some(first));
        // A machine with the same home.
        assert_eq!(current_id(&other, Some(&state)), machine_id(&other));
        assert_eq!(current_id(&file, None), machine_id(&file));
        // Without an id of the machine.
        assert_eq!(current_id(Path::new("/nowhere"), Some(&state)), own_id(&state.join(OWN_ID)));
    }
}
