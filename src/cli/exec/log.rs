//! `fairway exec log`

use std::cell::RefCell;
use std::ops::ControlFlow;

use anyhow::Result;

use super::format;
use super::stream_printer::StreamPrinter;
use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::values;
use fairway_actions::App;
use fairway_actions::jobs::log::{self, LogRequest};
use fairway_actions::jobs::output;
use fairway_actions::jobs::output_decoder::DecodedItem;
use fairway_actions::jobs::tail::Tail;
use fairway_core::domain::job::{ItemType, Job};
use fairway_core::wire::JobItemView;

/// Print a job's output
///
/// The job's stderr goes to stderr, and so do its events. Control sequences are removed and secrets masked. With
/// --follow and --json each item is one line.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway exec log 01a200f8 --follow
fairway exec log 01a200f8 --tail 20")]
pub struct Args {
    /// Job id or its short form
    #[arg(value_name = "JOB")]
    run: String,
    /// Only items after this sequence number
    #[arg(long, value_name = "SEQ", default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..))]
    since_seq: i64,
    /// Only the last lines; with --json the items that hold them
    #[arg(long, short = 'n', value_name = "LINES", conflicts_with = "since_seq")]
    tail: Option<usize>,
    /// Maximum number of items, 0: all [--json: 256, at most 500]
    #[arg(long, value_name = "N", value_parser = values::limit)]
    limit: Option<u32>,
    /// Only stdout, stderr or event
    #[arg(long, value_parser = stream)]
    stream: Option<ItemType>,
    /// Print new output until the job finishes
    #[arg(long, short)]
    follow: bool,
}

fn stream(text: &str) -> Result<ItemType, String> {
    values::word(text, ItemType::parse(text), ItemType::ALL.iter().map(|kind| kind.as_str()))
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        let tail = self.tail.map(|lines| Tail::find(&app, &self.run, lines, self.stream)).transpose()?;
        let request = LogRequest {
            job: self.run,
            since_seq: tail.as_ref().map_or(self.since_seq, |tail| tail.since_seq),
            limit: self.limit.map(|limit| limit as usize),
            stream: self.stream,
        };
        if ctx.out.json && !self.follow {
            ctx.out.document(&log::log(&app, &request)?)?;
            return Ok(0);
        }
        let mut reader = Reader { tail, ..Reader::new(ctx) };
        let run = reader.read(&app, &request, self.follow)?;
        // The end of a supervised job is an item, which the loop has shown; an unsupervised job has none.
        if self.follow && !run.status.is_final() && !ctx.out.json {
            ctx.out.note(&format::line(&output::view(&app, &run), ctx.env.now(), ctx.out.stderr_style));
        }
        Ok(0)
    }
}

/// Prints the items of a job's output in request.
pub(super) struct Reader<'a> {
    ctx: &'a Context,
    stdout: StreamPrinter,
    stderr: StreamPrinter,
    seen: i64,
    tail: Option<Tail>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(ctx: &'a Context) -> Self {
        Self { ctx, stdout: StreamPrinter::default(), stderr: StreamPrinter::default(), seen: 0, tail: None }
    }

    /// The sequence number of the last printed item.
    pub(super) const fn seen(&self) -> i64 {
        self.seen
    }

    /// Prints the requested items. With `follow`, it goes on until the job has ended. Returns the job as it is afterwards.
    pub(super) fn read(&mut self, app: &App, request: &LogRequest, follow: bool) -> Result<Job> {
        let mut left = request.limit.unwrap_or(usize::MAX);
        let shown = RefCell::new(self);
        let see = |mut piece: DecodedItem| {
            let Some(rest) = left.checked_sub(1) else { return Ok(ControlFlow::Break(())) };
            left = rest;
            if let Some(tail) = &mut shown.borrow_mut().tail {
                tail.trim(&mut piece);
            }
            shown.borrow_mut().see(&piece)?;
            Ok(if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        };
        let run = log::each(app, request, follow, see, || shown.borrow_mut().pause())?;
        shown.borrow_mut().pause()?;
        Ok(run)
    }

    fn see(&mut self, piece: &DecodedItem) -> Result<()> {
        self.seen = piece.seq;
        let out = &self.ctx.out;
        if out.json {
            out.document(&JobItemView::from(piece))?;
        } else if out.quiet {
            out.line(&piece.seq.to_string())?;
        } else {
            match piece.kind {
                ItemType::Stdout => out.text(&self.stdout.take(&piece.text))?,
                ItemType::Stderr => out.write_stderr(&self.stderr.take(&piece.text)),
                ItemType::Event => {
                    // On a terminal both streams share one line: end it before the event.
                    if self.ctx.env.terminal.stdout && self.ctx.env.terminal.stderr {
                        out.text(&self.stdout.cut())?;
                        out.write_stderr(&self.stderr.cut());
                    }
                    out.note(&format::event(&JobItemView::from(piece)));
                }
            }
        }
        Ok(())
    }

    /// Prints unfinished lines when there is no more output for now.
    fn pause(&mut self) -> Result<()> {
        let out = &self.ctx.out;
        if !out.json && !out.quiet {
            out.write_stderr(&self.stderr.pause());
            let text = self.stdout.pause();
            if !text.is_empty() {
                out.text(&text)?;
            }
        }
        Ok(())
    }
}
