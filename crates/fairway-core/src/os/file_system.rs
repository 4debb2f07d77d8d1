//! The file system that a path lies on: its space, and whether it is a network file system.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use nix::sys::stat::{major, minor};
use nix::sys::statvfs::statvfs;

/// Types of file systems on which several machines, or several mounts, do not see each other's locks. The part behind `fuse.` is
/// the name that a program gives to its file system.
const NETWORK_TYPES: &[&str] = &[
    "9p", "acfs", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "fuse.beegfs", "fuse.blobfuse", "fuse.blobfuse2",
    "fuse.ceph", "fuse.ceph-fuse", "fuse.curlftpfs", "fuse.davfs2", "fuse.gcsfuse", "fuse.glusterfs", "fuse.goofys",
    "fuse.google-drive-ocamlfuse", "fuse.juicefs", "fuse.mfs", "fuse.moosefs", "fuse.nfs", "fuse.onedriver",
    "fuse.rclone", "fuse.s3fs", "fuse.seaweedfs", "fuse.smbnetfs", "fuse.sshfs", "fuse.vmhgfs-fuse", "fuse.weed",
    "gfs2", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "prl_fs", "smb3", "smbfs", "vboxsf",
    "vmhgfs", "wekafs",
];
const MOUNTS: &str = "/proc/self/mountinfo";

/// Set when the user declares that locks work on the network file system in use.
static NETWORK_ALLOWED: AtomicBool = AtomicBool::new(false);

/// Declares that locks work on network file systems: [`network_type`] then reports none in this process.
pub fn allow_network() {
    NETWORK_ALLOWED.store(true, Relaxed);
}

/// The type of the network file system that a path lies on, such as `nfs4` or `fuse.sshfs`. `None` for any other file system,
/// when the type cannot be determined, and after [`allow_network`].
pub fn network_type(path: &Path) -> Option<String> {
    if NETWORK_ALLOWED.load(Relaxed) {
        return None;
    }
    let device = fs::metadata(path).ok()?.dev();
    let found = type_of_device(BufReader::new(fs::File::open(MOUNTS).ok()?), &device_name(device)).ok()??;
    NETWORK_TYPES.contains(&found.as_str()).then_some(found)
}

/// A device as `mountinfo` names it.
fn device_name(device: u64) -> String {
    format!("{}:{}", major(device), minor(device))
}

/// The type of the mounts of a device, in the form of `mountinfo`: `ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [FIELD…] - TYPE
/// SOURCE OPTIONS`.
fn type_of_device(mounts: impl BufRead, device: &str) -> io::Result<Option<String>> {
    for line in mounts.lines() {
        let line = line?;
        let Some((mount, file_system)) = line.split_once(" - ") else { continue };
        if mount.split(' ').nth(2) == Some(device) {
            return Ok(file_system.split(' ').next().map(str::to_owned));
        }
    }
    Ok(None)
}

/// The bytes that an unprivileged user can still write on this path's file system.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let found = statvfs(path)?;
    Ok(found.blocks_available().saturating_mul(found.fragment_size()))
}

pub fn total_bytes(path: &Path) -> io::Result<u64> {
    let found = statvfs(path)?;
    Ok(found.blocks().saturating_mul(found.fragment_size()))
}

/// The free bytes of a path's file system when they are few: below `wanted`, or below a twentieth and 20 GiB.
pub fn low_space(path: &Path, wanted: u64) -> Option<u64> {
    let found = statvfs(path).ok()?;
    let bytes = |blocks: u64| blocks.saturating_mul(found.fragment_size());
    let (free, total) = (bytes(found.blocks_available()), bytes(found.blocks()));
    (free < wanted || is_low(free, total)).then_some(free)
}

const fn is_low(free: u64, total: u64) -> bool {
    free < total / 20 && free < 20 << 30
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 master:7 - ext4 /dev/vda rw
41 27 0:52 / /srv/with\\040blank rw,nosuid - fuse.sshfs a@host:/x\\040-\\040y rw,user_id=0
42 27 0:53 / /srv/nfs rw,relatime shared:3 - nfs4 server:/export rw,vers=4.2
43 27 0:54 / /srv/box rw - vboxsf box rw
44 27 0:55 / /srv/local rw - fuse.gocryptfs /crypt rw
broken line
45 27 0:56 / /srv/ceph rw - ceph 10.0.0.1:/ rw
";

    #[test]
    fn space_is_low_below_a_twentieth_unless_that_is_much() {
        assert!(is_low(4 << 30, 100 << 30) && is_low(0, 1 << 20));
        assert!(!is_low(6 << 30, 100 << 30) && !is_low(30 << 30, 4000 << 30) && !is_low(0, 0));
    }

    #[test]
    fn type_is_the_word_behind_the_optional_fields_of_the_devices_mount() {
        let of = |device| type_of_device(LINES.as_bytes(), device).unwrap();
        for (device, name, is_network) in [
            ("254:0", "ext4", false),
            ("0:52", "fuse.sshfs", true),
            ("0:53", "nfs4", true),
            ("0:54", "vboxsf", true),
            ("0:55", "fuse.gocryptfs", false),
            ("0:56", "ceph", true),
        ] {
            assert_eq!(of(device).as_deref(), Some(name));
            assert_eq!(NETWORK_TYPES.contains(&name), is_network, "{name}");
        }
        assert_eq!(of("0:99"), None);
        // A prefix of a number is another device.
        assert_eq!(of("0:5"), None);
        assert!(NETWORK_TYPES.is_sorted());
    }

    #[test]
    fn device_of_a_real_path_is_found_in_the_real_list() {
        let device = device_name(fs::metadata("/proc").unwrap().dev());
        let mounts = BufReader::new(fs::File::open(MOUNTS).unwrap());
        assert_eq!(type_of_device(mounts, &device).unwrap().as_deref(), Some("proc"));
        assert_eq!(network_type(Path::new("/proc")), None);
    }
}
