//! Git's index, read as a file: which paths git tracks. No git process runs, since a repository's own configuration can
//! name programs that git would start.

use std::{fs, io, path::Path};

/// Those of `wanted` (paths from the worktree's top, with `/`) that the index names. An index of a form that is not
/// known names nothing.
///
/// # Errors
/// When the index cannot be read.
pub fn tracked(git_dir: &Path, wanted: &[String]) -> io::Result<Vec<String>> {
    let bytes = match fs::read(git_dir.join("index")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        bytes => bytes?,
    };
    let mut found = Vec::new();
    let _ = each_name(&bytes, |name| {
        found.extend(wanted.iter().filter(|wanted| wanted.as_bytes() == name).cloned());
    });
    Ok(found)
}

/// Calls `see` with every name; `None` when the bytes end too early or are of another form.
fn each_name(bytes: &[u8], mut see: impl FnMut(&[u8])) -> Option<()> {
    /// Times, device, inode, mode, owner, size and hash before the flags, in a repository of SHA-1.
    const FIXED: usize = 60;
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    if bytes.get(..4)? != b"DIRC" {
        return None;
    }
    let (version, count) = (number(4)?, number(8)?);
    let mut name: Vec<u8> = Vec::new();
    let mut at = 12;
    for _ in 0..count {
        let begin = at;
        let flags = u16::from_be_bytes(bytes.get(at + FIXED..at + FIXED + 2)?.try_into().ok()?);
        at += FIXED + 2;
        if version >= 3 && flags & 0x4000 != 0 {
            at += 2;
        }
        if version == 4 {
            let (dropped, next) = varint(bytes, at)?;
            at = next;
            name.truncate(name.len().checked_sub(dropped)?);
        } else {
            name.clear();
        }
        let length = bytes.get(at..)?.iter().position(|byte| *byte == 0)?;
        name.extend_from_slice(bytes.get(at..at + length)?);
        // Version 4 has no padding; the others fill up to eight with one to eight zeroes.
        at += length + 1;
        if version < 4 {
            at = begin + (at - begin).div_ceil(8) * 8;
        }
        see(&name);
    }
    Some(())
}

/// A number as git packs offsets: seven bits a byte, one added for each byte that follows.
fn varint(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut byte = *bytes.get(at)?;
    let mut number = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        at += 1;
        byte = *bytes.get(at)?;
        number = number.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
    }
    Some((number, at + 1))
}
