//! The life of the server: from the first line to the end of the input, or a signal.

use std::{sync::Arc, time::Duration};

use anyhow::{Context as _, Result};
use rmcp::service::serve_directly;
use tokio::{
    runtime,
    signal::unix::{SignalKind, signal},
    time::timeout,
};

use super::{calls::Calls, child::Children, server::Server, transport::StdioTransport};

/// The most calls at a time; more of them wait. A thread without a call ends after some seconds.
const MAX_CALLS: usize = 32;
/// How long the calls of a server that is ended by a signal may take for their answers.
const SIGNAL_GRACE: Duration = Duration::from_secs(3);

/// Serves until the end of stdin, or until a signal. One thread waits for messages and answers, one reads, one writes; calls
/// have threads for their time.
pub fn serve(calls: Arc<dyn Calls>) -> Result<()> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(MAX_CALLS)
        .build()
        .context("cannot start the server")?;
    let children = Children::default();
    let served = runtime.block_on(run(Server { calls, children: children.clone() }));
    children.terminate();
    // A call that still waits for the store has changed nothing yet.
    runtime.shutdown_background();
    served
}

async fn run(server: Server) -> Result<()> {
    let mut term = signal(SignalKind::terminate()).context("cannot catch TERM")?;
    let mut int = signal(SignalKind::interrupt()).context("cannot catch INT")?;
    let mut hangup = signal(SignalKind::hangup()).context("cannot catch HUP")?;
    let children = server.children.clone();
    let transport = StdioTransport::start().context("cannot read stdin")?;
    // Without the lifecycle of a connection: every request is answered as it stands.
    let running = serve_directly(server, transport, None);
    let stop = running.cancellation_token();
    let ended = running.waiting();
    tokio::pin!(ended);
    tokio::select! {
        _ = &mut ended => return Ok(()),
        _ = term.recv() => {}
        _ = int.recv() => {}
        _ = hangup.recv() => {}
    }
    // The programs of the calls end first, so that their answers are still written.
    let _ = tokio::task::spawn_blocking(move || children.terminate()).await;
    stop.cancel();
    let _ = timeout(SIGNAL_GRACE, ended).await;
    Ok(())
}
