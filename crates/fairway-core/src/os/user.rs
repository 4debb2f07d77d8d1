//! The user this process runs as.

use std::fs;
use std::path::PathBuf;

use nix::unistd::{Gid, Group, Uid, User};

/// The login name, or the uid as text when the user has none.
pub fn name() -> String {
    passwd_entry().map_or_else(|| uid().to_string(), |(name, _)| name)
}

/// The home directory in the user database, whatever `HOME` says; `None` when the user has no entry.
pub fn home() -> Option<PathBuf> {
    passwd_entry().map(|(_, home)| home)
}

/// The effective uid.
pub fn uid() -> u32 {
    Uid::effective().as_raw()
}

/// Whether a group is this user's own: it has the user's name, and no other members. `false` when that is unknown.
pub fn is_own_group(gid: u32) -> bool {
    let user = name();
    let local = fs::read_to_string("/etc/group").ok().and_then(|text| find_in_group(&text, gid));
    let found =
        local.or_else(|| Group::from_gid(Gid::from_raw(gid)).ok().flatten().map(|group| (group.name, group.mem)));
    found.is_some_and(|(group, members)| group == user && members.iter().all(|member| *member == user))
}

fn find_in_group(groups: &str, gid: u32) -> Option<(String, Vec<String>)> {
    groups.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let members = fields.get(3)?.split(',').filter(|member| !member.is_empty()).map(str::to_owned).collect();
        (fields.get(2)?.parse() == Ok(gid)).then(|| Some((fields.first()?.to_string(), members)))?
    })
}

/// Name and home. The local file is asked first: the library call opens sockets to a name service and, in a static
/// binary, loads code at run time.
fn passwd_entry() -> Option<(String, PathBuf)> {
    let local = fs::read_to_string("/etc/passwd").ok().and_then(|text| find_in_passwd(&text, uid()));
    local.or_else(|| User::from_uid(Uid::effective()).ok().flatten().map(|user| (user.name, user.dir)))
}

fn find_in_passwd(passwd: &str, uid: u32) -> Option<(String, PathBuf)> {
    passwd.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let is_ours = fields.get(2)?.parse() == Ok(uid);
        is_ours.then(|| Some((fields.first()?.to_string(), PathBuf::from(fields.get(5)?))))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_entry_of_a_uid_and_passes_what_is_none() {
        let passwd = "# comment\nroot:x:0:0:root:/root:/bin/sh\nbroken\n+::::::\nann:x:1000:1000::/home/ann:/bin/sh\n";
        assert_eq!(find_in_passwd(passwd, 1000), Some(("ann".into(), PathBuf::from("/home/ann"))));
        assert_eq!(find_in_passwd(passwd, 7), None);
        let groups = "# comment\nroot:x:0:\nbroken\n+:::\nann:x:1000:\nstaff:x:50:ann,bob\n";
        assert_eq!(find_in_group(groups, 1000), Some(("ann".into(), Vec::new())));
        assert_eq!(find_in_group(groups, 50), Some(("staff".into(), vec!["ann".into(), "bob".into()])));
        assert_eq!(find_in_group(groups, 7), None);
    }
}
