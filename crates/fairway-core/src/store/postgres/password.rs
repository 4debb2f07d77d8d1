//! Passwords beside the address: `PGPASSWORD`, and the password file of PostgreSQL's own programs.

use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::env::{Env, vars};
use crate::os::user;

const DEFAULT_PORT: u16 = 5432;
/// The permissions of group and others, which a password file must not give.
const OPEN_TO_OTHERS: u32 = 0o077;

/// The password for a connection, from `PGPASSWORD` or the password file; `None` when neither has one.
/// Fails with the reason why a password file was not read.
pub(super) fn find(config: &Config, env: &Env) -> Result<Option<Vec<u8>>, String> {
    if let Some(password) = env.var_os(vars::PGPASSWORD) {
        return Ok(Some(password.clone().into_vec()));
    }
    let stated = env.var_os(vars::PGPASSFILE).map(PathBuf::from);
    let Some(path) = stated.or_else(|| Some(env.home.as_ref()?.join(".pgpass"))) else { return Ok(None) };
    let Ok(metadata) = fs::metadata(&path) else { return Ok(None) };
    let shown = path.display();
    if !metadata.is_file() {
        return Err(format!("the password file {shown} is not read: it is no file"));
    }
    if metadata.mode() & OPEN_TO_OTHERS != 0 {
        let mode = metadata.mode() & 0o777;
        return Err(format!("the password file {shown} is not read: its permissions are {mode:04o}, not 0600"));
    }
    let text = fs::read(&path).map_err(|error| format!("the password file {shown} is not read: {error}"))?;
    let user = config.get_user().map_or_else(user::name, str::to_owned);
    let database = config.get_dbname().unwrap_or_default();
    let ports = config.get_ports();
    let hosts = config.get_hosts().iter().enumerate();
    Ok(hosts.into_iter().find_map(|(index, host)| {
        let port = ports.get(index).or_else(|| ports.first()).copied().unwrap_or(DEFAULT_PORT).to_string();
        let names = match host {
            Host::Tcp(name) => vec![name.clone()],
            // PostgreSQL's own programs call the usual directory of sockets so.
            Host::Unix(path) => vec![path.to_string_lossy().into_owned(), "localhost".into()],
        };
        names.iter().find_map(|name| look_up(&text, [name, &port, database, &user]))
    }))
}

/// The password in the first line whose fields match: `HOST:PORT:DATABASE:USER:PASSWORD`, with `*` for any.
fn look_up(text: &[u8], wanted: [&str; 4]) -> Option<Vec<u8>> {
    text.split(|byte| *byte == b'\n').find_map(|line| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.starts_with(b"#") {
            return None;
        }
        let mut fields = fields(line).into_iter();
        let matches =
            wanted.iter().all(|wanted| fields.next().is_some_and(|(text, is_any)| is_any || text == wanted.as_bytes()));
        matches.then(|| fields.next()).flatten().map(|(password, _)| password)
    })
}

/// The fields of a line without their backslashes, each with whether it stands for any.
fn fields(line: &[u8]) -> Vec<(Vec<u8>, bool)> {
    let mut fields = vec![(Vec::new(), false)];
    let mut bytes = line.iter().copied();
    let mut raw = 0;
    while let Some(byte) = bytes.next() {
        let Some((field, is_any)) = fields.last_mut() else { break };
        match byte {
            b':' => {
                fields.push((Vec::new(), false));
                raw = 0;
                continue;
            }
            b'\\' => {
                *is_any = false;
                field.extend(bytes.next());
            }
            _ => {
                *is_any = byte == b'*' && raw == 0;
                field.push(byte);
            }
        }
        raw += 1;
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_matches_gives_the_password() {
        let text = b"# db:5432:team:ann:comment\n\
            other:5432:team:ann:one\n\
            db:5433:team:ann:two\n\
            db:*:te\\:am:ann:three\n\
            db:*:team:*:fo\\\\u\\:r\r\n\
            *:*:*:*:five\n";
        let of = |wanted| look_up(text, wanted).map(|found| String::from_utf8(found).unwrap());
        assert_eq!(of(["db", "5433", "team", "ann"]).as_deref(), Some("two"));
        assert_eq!(of(["db", "5432", "te:am", "ann"]).as_deref(), Some("three"));
        assert_eq!(of(["db", "5432", "team", "bob"]).as_deref(), Some("fo\\u:r"));
        assert_eq!(of(["db2", "5432", "team", "bob"]).as_deref(), Some("five"));
        assert_eq!(look_up(b"db:5432:team", ["db", "5432", "team", "ann"]), None);
        assert_eq!(look_up(b"\\*:5432:team:ann:x", ["db", "5432", "team", "ann"]), None);
        assert_eq!(look_up(b"", ["db", "5432", "team", "ann"]), None);
    }
}
