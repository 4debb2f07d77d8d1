//! Attempts on files.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::path::Path;

use super::targets::{self, Targets};

/// Appends the mark, the random text by which an effect is recognized, to a file, which is created if it is missing.
pub fn write(path: &Path, to: &Targets) -> io::Result<String> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    writeln!(file, "{}", to.mark)?;
    Ok(String::new())
}

/// Replaces another file by one that contains the mark.
pub fn replace(path: &Path, to: &Targets) -> io::Result<String> {
    let other = to.lane_path("replacement");
    write(&other, to)?;
    fs::rename(&other, path).or_else(|_| {
        fs::remove_file(path)?;
        write(path, to).map(drop)
    })?;
    Ok(String::new())
}

pub fn write_in_new_directory(path: &Path, to: &Targets) -> io::Result<String> {
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir)?;
    }
    write(path, to)
}

pub fn write_by_symlink(path: &Path, to: &Targets) -> io::Result<String> {
    let link = to.lane_path("symlink");
    symlink(path, &link)?;
    write(&link, to)
}

pub fn write_by_hard_link(path: &Path, to: &Targets) -> io::Result<String> {
    let link = to.lane_path("hard-link");
    fs::hard_link(path, &link)?;
    write(&link, to)
}

pub fn write_by_rename(path: &Path, to: &Targets) -> io::Result<String> {
    let own = to.lane_path("renamed");
    write(&own, to)?;
    rename(&own, path)
}

pub fn rename(from: &Path, path: &Path) -> io::Result<String> {
    fs::rename(from, path)?;
    Ok(String::new())
}

pub fn remove(path: &Path) -> io::Result<String> {
    fs::remove_file(path)?;
    Ok(String::new())
}

pub fn read(path: &Path) -> io::Result<String> {
    fs::read_to_string(path)
}

/// Writes the file through `/proc/PID/root` of a process outside of the sandbox, or else of process 1.
pub fn write_by_process_root(to: &Targets) -> io::Result<String> {
    let path = to.path("shared/process");
    let inside = path.strip_prefix("/").unwrap_or(&path);
    let by = |pid: i32| write(&Path::new(&format!("/proc/{pid}/root")).join(inside), to);
    by(to.victim).or_else(|_| by(1))
}

pub fn write_by_descriptor(to: &Targets) -> io::Result<String> {
    let path = format!("/proc/self/fd/{}/by-descriptor", to.descriptor);
    write(Path::new(&path), to)
}

/// Looks for the credential that the check has set in the environment, in the kernel's copy of this process's environment.
pub fn credential(_: &Targets) -> io::Result<String> {
    let all = fs::read("/proc/self/environ")?;
    let text = String::from_utf8_lossy(&all).into_owned();
    let found = text.split('\0').find(|variable| variable.starts_with(targets::CREDENTIAL));
    found.map(str::to_owned).ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the variable is not set"))
}

pub fn process_environment(to: &Targets) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&fs::read(format!("/proc/{}/environ", to.victim))?).into_owned())
}

/// Writes the value that a setting of the kernel has already.
pub fn write_kernel_setting(to: &Targets) -> io::Result<String> {
    let setting = Path::new("/proc/sys/kernel/core_pattern");
    let value = fs::read(setting)?;
    OpenOptions::new().write(true).open(setting)?.write_all(&value)?;
    Ok(to.mark.clone())
}
