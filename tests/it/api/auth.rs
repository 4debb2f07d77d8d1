//! Access: at the port by token, Host and not from a browser, at the socket by user.

use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::common::require;

fn ask(port: u16, headers: &str) -> u16 {
    let text = format!("GET /health HTTP/1.1\r\nconnection: close\r\n{headers}\r\n");
    let answer = said(local(port), text.as_bytes());
    answer.get(9..12).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("{headers}: {answer}"))
}

#[test]
fn port_requires_token_and_host_and_refuses_browsers() {
    let world = world();
    let server = Server::start(&world, &["--http", "--session", "s1"]);
    let port = server.port();
    let token = fs::read_to_string(runtime(&world).join("worker.token")).unwrap();
    assert_eq!(token.len(), 64);
    for name in ["worker.port", "worker-s1.port"] {
        assert_eq!(fs::read_to_string(runtime(&world).join(name)).unwrap(), format!("{port}\n"));
    }
    let bearer = format!("authorization: Bearer {token}\r\n");
    let host = format!("host: 127.0.0.1:{port}\r\n");
    assert_eq!(ask(port, &format!("{host}{bearer}")), 200);
    assert_eq!(ask(port, &format!("host: localhost:{port}\r\n{bearer}")), 200);
    assert_eq!(ask(port, &host), 401);
    assert_eq!(ask(port, &format!("{host}authorization: Bearer {}\r\n", "0".repeat(64))), 401);
    assert_eq!(ask(port, &format!("{host}authorization: Bearer \r\n")), 401);
    assert_eq!(ask(port, &format!("host: evil.example\r\n{bearer}")), 403);
    assert_eq!(ask(port, &format!("host: evil.example:{port}\r\n{bearer}")), 403);
    assert_eq!(ask(port, &format!("host: 127.0.0.1\r\n{bearer}")), 403);
    assert_eq!(ask(port, &bearer), 403);
    assert_eq!(ask(port, &format!("{host}{bearer}origin: http://127.0.0.1:{port}\r\n")), 403);
    let modes = |name: &str| fs::metadata(runtime(&world).join(name)).unwrap().permissions().mode() & 0o777;
    for name in ["worker.sock", "worker.token", "worker.port", "worker-s1.port"] {
        assert_eq!(modes(name), 0o600, "{name}");
    }
    assert_eq!(modes(""), 0o700);
    // The next server has another token, and this one leaves nothing.
    assert_eq!(server.end().code, Some(0));
    for name in ["worker.sock", "worker.token", "worker.port", "worker-s1.port"] {
        assert!(!runtime(&world).join(name).exists(), "{name}");
    }
    let _server = Server::start(&world, &["--http"]);
    assert_ne!(fs::read_to_string(runtime(&world).join("worker.token")).unwrap(), token);
}

#[test]
fn port_without_the_flag_is_closed() {
    let world = world();
    let server = Server::start(&world, &[]);
    assert_eq!(server.at["port"], json!(null));
    let own = fs::read_to_string(format!("/proc/{}/net/tcp", server.pid())).unwrap();
    let inodes: Vec<String> = fs::read_dir(format!("/proc/{}/fd", server.pid()))
        .unwrap()
        .filter_map(|entry| fs::read_link(entry.ok()?.path()).ok())
        .filter_map(|path| Some(path.to_str()?.strip_prefix("socket:[")?.trim_end_matches(']').to_owned()))
        .collect();
    assert!(!inodes.is_empty());
    let listens =
        own.lines().any(|line| line.split_whitespace().nth(9).is_some_and(|at| inodes.iter().any(|i| i == at)));
    assert!(!listens, "{own}");
}

#[test]
fn socket_refuses_other_users() {
    if !require::root() {
        return;
    }
    let world = world();
    let _server = Server::start(&world, &[]);
    let path = runtime(&world).join("worker.sock");
    let ask = |user: &str| {
        let mut command = world.command("setpriv");
        command.args(["--reuid", user, "--regid", user, "--clear-groups", "curl", "--silent", "--max-time", "20"]);
        CommandOutput::from(command.arg("--unix-socket").arg(&path).arg("http://x/health").output().unwrap())
    };
    // curl's word for nobody to connect to.
    assert_eq!(ask("65534").code, Some(7));
    // And when the modes do not help either, the kernel says who it is.
    for at in path.ancestors().take_while(|at| at.starts_with(world.dir())) {
        fs::set_permissions(at, fs::Permissions::from_mode(0o777)).unwrap();
    }
    let mut control = world.command("setpriv");
    control.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "test", "-w"]).arg(&path);
    assert!(control.status().unwrap().success(), "the modes still keep them out");
    // They are hung up on without a word, which some take for nobody being there.
    let heard = ask("65534");
    assert!(matches!(heard.code, Some(7 | 52 | 55 | 56)), "{heard:?}");
    assert_eq!(heard.stdout, "");
    assert_eq!(ask("0").exits(0).json()["status"], "healthy");
}
