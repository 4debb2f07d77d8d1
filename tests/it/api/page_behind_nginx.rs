//! The page behind a real nginx that is configured as the guide says, below a path.

use std::path::Path;

use super::*;
use crate::common::fixtures::add_approval;
use crate::common::require;

const PROGRAM: &str = "/usr/sbin/nginx";
const BOARD: &str = "http://board.example.org/tools/board/";

struct Nginx {
    child: Child,
    socket: PathBuf,
}

impl Nginx {
    fn start(world: &TestProject, board: u16) -> Self {
        let dir = world.dir().join("nginx");
        fs::create_dir(&dir).unwrap();
        let temp =
            ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(|part| format!("{part}_temp_path {part};\n"));
        let text = format!(
            "daemon off; master_process off; pid nginx.pid; events {{}}\nhttp {{\naccess_log off; gzip on;\n{}\
             server {{ listen unix:{dir}/socket;\nlocation /tools/board/ {{ proxy_pass http://127.0.0.1:{board}/; \
             proxy_set_header Host $host; }} }} }}\n",
            temp.concat(),
            dir = dir.display(),
        );
        fs::write(dir.join("nginx.conf"), text).unwrap();
        let mut command = world.command(PROGRAM);
        command.args(["-e", "stderr", "-c", "nginx.conf", "-p"]).arg(&dir).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        let socket = dir.join("socket");
        eventually("nginx listens", || UnixStream::connect(&socket).ok());
        Self { child, socket }
    }

    fn curl(&self, world: &TestProject, args: &[&str]) -> Command {
        let mut command = world.command("curl");
        command.args([
            "--silent", "--show-error", "--no-buffer", "--compressed", "--cookie-jar", "jar", "--cookie", "jar",
        ]);
        command.arg("--unix-socket").arg(&self.socket).args(args).current_dir(world.dir());
        command
    }

    /// The status and the body.
    fn ask(&self, world: &TestProject, args: &[&str]) -> (String, String) {
        let words = [&["--max-time", "20", "--write-out", "\n%{http_code}"], args].concat();
        let done = CommandOutput::from(self.curl(world, &words).output().unwrap()).exits(0);
        let (body, status) = done.stdout.rsplit_once('\n').unwrap();
        (status.to_owned(), body.to_owned())
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn page_below_a_path_of_nginx_pairs_streams_and_acts() {
    if !require::met(Path::new(PROGRAM).exists(), "nginx is not installed; tests/run.sh installs it") {
        return;
    }
    let world = world();
    let id = add_approval(&world, "s1", "Bash", true);
    configure(&world, "[serve]\nhosts = [\"http://board.example.org/tools/board\"]");
    let server = Server::start(&world, &["--http"]);
    let nginx = Nginx::start(&world, server.port());
    let ask = |args: &[&str]| nginx.ask(&world, args);
    let at = |path: &str| format!("{BOARD}{path}");
    assert_eq!(ask(&[BOARD]).0, "401", "no browser is paired");
    let links = world.json(["device", "pair"]);
    let link = links["links"][0].as_str().unwrap();
    assert!(link.starts_with(&at("pair?code=")), "{links}");
    assert_eq!(ask(&[link]).0, "200");
    let own = "origin: http://board.example.org";
    let code = format!("code={}", links["code"].as_str().unwrap());
    let paired = ask(&[
        "--header",
        own,
        "--data",
        &code,
        "--data",
        "name=desk",
        "--location",
        "--output",
        "paired",
        &at("pair"),
    ]);
    assert_eq!(paired.0, "200");

    let (status, page) = ask(&[BOARD]);
    assert_eq!(status, "200", "{page}");
    // Each address of the page leads below the path.
    let quoted = |part: &str| {
        page.split(part).skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let mut addresses = [quoted("href=\""), quoted("src=\""), quoted("action=\"")].concat();
    addresses.sort();
    addresses.dedup();
    assert!(addresses.iter().any(|one| one.contains(".js")) && addresses.len() > 5, "{addresses:?}");
    for one in addresses.iter().filter(|one| !one.starts_with('#')) {
        assert!(!one.starts_with('/') && !one.contains("://"), "{one}");
    }
    for asset in addresses.iter().filter(|one| one.contains(".js") || one.contains(".css")) {
        assert_eq!(ask(&[&at(asset)]).0, "200", "{asset}");
    }

    // The stream passes nginx at once, and what a form does is in it.
    let mut events = nginx.curl(&world, &["--max-time", "60", &at("events")]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(events.stdout.take().unwrap());
    let mut until = |text: &str| {
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            assert!(lines.read_line(&mut line).unwrap() > 0, "the stream has ended before {text}");
        }
    };
    until("event: board");
    world.run(["task", "add", "T-1", "Through the proxy"]).exits(0);
    until("Through the proxy");
    let _ = events.kill();
    let _ = events.wait();
    let fields = [format!("item=approval:{id}"), format!("command=fairway approvals answer {id} allow")];
    let act = |origin: &str| {
        let origin = format!("origin: http://{origin}");
        let data = fields.each_ref().map(|field| ["--data-urlencode", field.as_str()]).concat();
        ask(&[&["--header", origin.as_str()], &data[..], &[&at("act")]].concat())
    };
    assert_eq!(act("evil.example.org").0, "403");
    let done = act("board.example.org");
    assert!(done.0 == "200" && done.1.contains("allowed Bash of s1"), "{done:?}");
    // By a name that is not in the settings a person reads why.
    let other = ask(&["--header", "accept: text/html", "http://other.example.org/tools/board/"]);
    assert!(other.0 == "403" && other.1.contains("serve.hosts"), "{other:?}");
}
