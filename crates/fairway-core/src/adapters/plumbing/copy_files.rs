//! Copies files into a session's directory before its program starts, and never to a place outside of it.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::adapters::StartConfig;
use crate::os::opened_dir::BeneathRoot;

/// Copies the files that a start configuration names into `directory`: first the content of `pack_overlay_dirs`, then that of
/// `overlay_dir`, then `copy_files`. Existing files are overwritten. Relative sources start from `base`. `warn` gets the sources
/// that are missing or cannot be copied. A destination outside of `directory` is an error.
pub fn copy_files(directory: &Path, base: &Path, start: &StartConfig, warn: &mut dyn FnMut(&str)) -> io::Result<()> {
    let overlays = start.pack_overlay_dirs.iter().flatten().chain(&start.overlay_dir);
    let files = start.copy_files.iter().flatten();
    if overlays.clone().next().is_none() && files.clone().next().is_none() {
        return Ok(());
    }
    let to = BeneathRoot::open(directory)?;
    for source in overlays.filter(|source| !source.is_empty()) {
        copy_tree(&to, &base.join(source), Path::new(""), warn)?;
    }
    for file in files.filter(|file| !file.src.is_empty()) {
        let (source, path) = (base.join(&file.src), Path::new(&file.rel_dst));
        if source.is_dir() {
            copy_tree(&to, &source, path, warn)?;
            continue;
        }
        // As `cp` does: into a directory under its own name, else under the name that is given.
        let is_into = to.has_dir(path) || file.rel_dst.ends_with('/');
        let name = if is_into { source.file_name() } else { path.file_name() };
        let dir = if is_into { path } else { path.parent().unwrap_or(path) };
        let Some(name) = name else { return Err(escapes_root(path)) };
        // A link that is named as the source is followed; a link inside a directory is copied as a link.
        let real = fs::canonicalize(&source).unwrap_or_else(|_| source.clone());
        copy_entry(&to, &real, dir, name, warn)?;
    }
    Ok(())
}

fn escapes_root(path: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, format!("{} leads out of the directory", path.display()))
}

/// Copies the content of a directory over another one.
fn copy_tree(to: &BeneathRoot, source: &Path, path: &Path, warn: &mut dyn FnMut(&str)) -> io::Result<()> {
    let mut entries: Vec<PathBuf> = match fs::read_dir(source) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(error) => {
            warn(&format!("{} is not copied: {error}", source.display()));
            return Ok(());
        }
    };
    entries.sort();
    to.create_dir(path)?;
    for entry in entries {
        let Some(name) = entry.file_name() else { continue };
        if fs::symlink_metadata(&entry).is_ok_and(|found| found.is_dir()) {
            copy_tree(to, &entry, &path.join(name), warn)?;
        } else {
            copy_entry(to, &entry, path, name, warn)?;
        }
    }
    Ok(())
}

/// Copies one file, or a link as a link.
fn copy_entry(to: &BeneathRoot, source: &Path, dir: &Path, name: &OsStr, warn: &mut dyn FnMut(&str)) -> io::Result<()> {
    if name == ".." {
        return Err(escapes_root(&dir.join(name)));
    }
    let place = to.create_dir(dir)?;
    let done = (|| {
        let found = fs::symlink_metadata(source)?;
        if place.identity(name) == Some((found.dev(), found.ino())) {
            return Ok(());
        }
        if found.is_symlink() {
            return place.symlink(name, &fs::read_link(source)?);
        }
        if !found.is_file() {
            return Err(io::Error::other("it is no file"));
        }
        place.copy_file(name, &mut File::open(source)?, found.mode())
    })();
    if let Err(error) = done {
        warn(&format!("{} is not copied: {error}", source.display()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::adapters::CopyFile;

    #[test]
    fn overlays_and_files_land_where_they_belong() {
        let home = tempfile::tempdir().unwrap();
        let (base, to) = (home.path(), home.path().join("work"));
        for dir in ["work/sub", "pack/.hid", "mine/.hid", "tree/in"] {
            fs::create_dir_all(base.join(dir)).unwrap();
        }
        for (file, text) in
            [("pack/.hid/a", "pack"), ("pack/b", "pack"), ("mine/.hid/a", "mine"), ("tree/in/t", "t"), ("f", "f")]
        {
            fs::write(base.join(file), text).unwrap();
        }
        symlink("b", base.join("pack/link")).unwrap();
        fs::write(to.join("own"), "own").unwrap();
        let file = |src: &str, rel_dst: &str| CopyFile { src: src.into(), rel_dst: rel_dst.into() };
        let start = StartConfig {
            pack_overlay_dirs: Some(vec!["pack".into(), "absent".into()]),
            overlay_dir: Some("mine".into()),
            copy_files: Some(vec![
                file("f", ""),
                file("f", "sub"),
                file("f", "new/name"),
                file("tree", "dst"),
                file("work/own", "own"),
                file("missing", "x"),
            ]),
            ..StartConfig::default()
        };
        let mut warnings = Vec::new();
        copy_files(&to, base, &start, &mut |why| warnings.push(why.to_owned())).unwrap();
        for (file, text) in [
            (".hid/a", "mine"),
            ("b", "pack"),
            ("link", "pack"),
            ("f", "f"),
            ("sub/f", "f"),
            ("new/name", "f"),
            ("dst/in/t", "t"),
            ("own", "own"),
        ] {
            assert_eq!(fs::read_to_string(to.join(file)).unwrap(), text, "{file}");
        }
        assert!(to.join("link").is_symlink());
        assert_eq!(warnings.len(), 2, "{warnings:?}");
    }

    #[test]
    fn copy_never_lands_outside_its_directory() {
        let home = tempfile::tempdir().unwrap();
        let (base, to) = (home.path(), home.path().join("work"));
        fs::create_dir(&to).unwrap();
        fs::create_dir(base.join("outside")).unwrap();
        fs::create_dir_all(base.join("tree/out")).unwrap();
        fs::write(base.join("tree/out/t"), "t").unwrap();
        fs::write(base.join("f"), "f").unwrap();
        symlink("../outside", to.join("out")).unwrap();
        for (src, rel_dst) in
            [("f", ".."), ("f", "../f2"), ("f", "/tmp/f2"), ("f", "out"), ("f", "out/f"), ("tree", ""), ("tree", "..")]
        {
            let file = CopyFile { src: src.into(), rel_dst: rel_dst.into() };
            let start = StartConfig { copy_files: Some(vec![file]), ..StartConfig::default() };
            let done = copy_files(&to, base, &start, &mut |_| ());
            // A file may take the place of a link.
            assert!(done.is_err() || rel_dst == "out", "{src} to {rel_dst}");
            if rel_dst == "out" {
                fs::remove_file(to.join("out")).unwrap();
                symlink("../outside", to.join("out")).unwrap();
            }
        }
        assert_eq!(fs::read_dir(base.join("outside")).unwrap().count(), 0);
        assert!(!base.join("f2").exists());
    }
}
