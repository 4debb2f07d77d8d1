//! `fairway review …`

pub(super) mod card;

use std::path::PathBuf;

use anyhow::Result;
use clap::Subcommand;
use serde_json::Value;

use crate::cli::age::age;
use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::force::ForceArgs;
use crate::cli::values;
use fairway_actions::land::Post;
use fairway_actions::queue::review::next::{self, NextRequest};
use fairway_actions::queue::review::{self, NewReview, comments, list};
use fairway_actions::queue::task::claimed_task;
use fairway_core::domain::id::Label;
use fairway_core::domain::review::{LinePlace, Verdict};
use fairway_core::domain::{Refusal, TaskId, plural};
use fairway_core::os::terminal;
use fairway_core::render::{Table, escape_line};
use fairway_core::wire::ReviewView;

/// See what waits for review; request and record reviews
#[derive(Debug, Subcommand)]
#[command(after_help = "\
fairway review next
fairway review record T-4 --verdict approve")]
#[command(defer = true)]
pub enum Verb {
    Next(NextArgs),
    Request(RequestArgs),
    Record(RecordArgs),
    List(ListArgs),
    Withdraw(WithdrawArgs),
    Comment(CommentArgs),
    Comments(CommentsArgs),
    Resolve(ResolveArgs),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Next(args) => args.run(ctx),
            Self::Request(args) => {
                ctx.answer(&review::request(&ctx.app()?, &args.task, args.domain.as_ref(), args.reviewer.as_deref())?)
            }
            Self::Record(args) => args.run(ctx),
            Self::List(args) => args.run(ctx),
            Self::Withdraw(args) => ctx.answer(&review::withdraw(&ctx.app()?, args.id, args.force.reason().as_ref())?),
            Self::Comment(args) => args.run(ctx),
            Self::Comments(args) => args.run(ctx),
            Self::Resolve(args) => ctx.answer(&comments::resolve(&ctx.app()?, args.id, args.force.reason().as_ref())?),
        }
    }
}

/// The fewest lines of a patch that are shown, however small the terminal is.
const MIN_LINES: usize = 10;

/// Show the next submitted task that waits for you
///
/// The card: what was asked, what was changed, the evidence at this commit, verdicts, consequences, and the commands that act
/// on it. The card that waited longest comes first; a task for which others wait counts once more for each of them. Of a
/// reworked task only what is new since your last card or verdict is shown, where git can tell.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway review next
fairway review next --task T-4 --all")]
pub struct NextArgs {
    /// Show the card of this task, also if it waits for others
    #[arg(long, value_name = "TASK", value_parser = values::task)]
    task: Option<TaskId>,
    /// Show everything, also what you have seen
    #[arg(long)]
    all: bool,
    /// Put this task behind the others, until it is submitted again
    #[arg(long, value_name = "TASK", value_parser = values::task, conflicts_with = "task")]
    defer: Option<TaskId>,
    /// Maximum number of lines of the patch; 0 for all
    #[arg(long, value_name = "N")]
    lines: Option<usize>,
}

impl NextArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        let found = next::next(&app, &NextRequest { task: self.task, all: self.all, defer: self.defer })?;
        let mut is_whole = true;
        let exit = ctx.show(
            &found,
            || found.card.iter().map(|card| card.task.id.clone()).collect(),
            || {
                let Some(card) = &found.card else { return card::nothing(&found) };
                let text = card::text(card, &found, ctx.env.now());
                let used = text.top.lines().count() + text.bottom.lines().count() + 1;
                let screen = terminal::size().map(|(rows, _)| usize::from(rows).saturating_sub(used).max(MIN_LINES));
                let limit = self.lines.or(screen).filter(|limit| *limit > 0);
                let (patch, is_cut) = card::first_lines(&text.patch, limit, &card.task.id);
                is_whole = !is_cut;
                format!("{}{patch}{}", text.top, text.bottom)
            },
        )?;
        // Someone who sees only ids has not seen the work.
        if let Some(card) = found.card.filter(|_| is_whole && (ctx.out.json || !ctx.out.quiet)) {
            // The card was shown anyway. Without this record, the next card repeats what the reviewer has seen.
            if let Err(error) = next::shown(&app, &card) {
                ctx.out.note(&escape_line(&format!("this card is not remembered: {error}")));
            }
        }
        Ok(exit)
    }
}

/// Request a review in a domain
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway review request T-4 --domain data")]
pub struct RequestArgs {
    /// Task id
    #[arg(value_parser = values::task)]
    task: TaskId,
    /// Domain; default: the only possible one, else general
    #[arg(long, value_parser = values::label)]
    domain: Option<Label>,
    /// Requested reviewer
    #[arg(long, value_name = "WHO")]
    reviewer: Option<String>,
}

/// Record a review of a task
///
/// Without a task: of the only submitted one that waits for you. A single argument with a blank is the note. An approval is
/// bound to its commit; that of a claimant of the task does not count. With --post also on its pull request, where your own
/// gets a comment in place of a verdict.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway review record T-4 --verdict approve
fairway review record T-4 'see line 40' --verdict changes")]
pub struct RecordArgs {
    /// Task id [default: the only one that waits for you]
    task: Option<String>,
    /// Note; - reads stdin
    note: Option<String>,
    /// Verdict: approve, changes or reject
    #[arg(long, value_parser = values::verdict)]
    verdict: Verdict,
    /// Domain; default: the only possible one, else general
    #[arg(long, value_parser = values::label)]
    domain: Option<Label>,
    /// Reviewer; default: the actor
    #[arg(long, value_name = "WHO")]
    reviewer: Option<String>,
    /// Reviewed commit; default: the task's, else HEAD
    #[arg(long, value_name = "SHA", value_parser = values::commit)]
    commit: Option<String>,
    /// Notes; - reads stdin
    #[arg(long, value_name = "TEXT")]
    notes: Option<String>,
    /// Read the notes from FILE; - reads stdin
    #[arg(long, value_name = "FILE", conflicts_with = "notes")]
    notes_file: Option<PathBuf>,
    /// Post it and your open comments on the pull request, too
    #[arg(long)]
    post: bool,
}

impl RecordArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        // An id has no blanks, so that a mistyped one is never taken for the note.
        let is_note = |word: &str| word.contains(char::is_whitespace);
        let (task, note) = match (self.task, self.note) {
            (Some(note), None) if is_note(&note) => (None, Some(note)),
            given => given,
        };
        if let Some(number) = task.as_deref().filter(|task| task.bytes().all(|byte| byte.is_ascii_digit())) {
            let decision = if self.verdict == Verdict::Approve { "allow" } else { "deny" };
            return Err(Refusal::ArgumentMissing {
                why: format!("'{number}' is no task id"),
                hint: format!("answer a permission request: fairway approvals answer {number} {decision}"),
            }
            .into());
        }
        let task = task.as_deref().map(TaskId::parse).transpose()?;
        if note.is_some() && (self.notes.is_some() || self.notes_file.is_some()) {
            return Err(Refusal::Usage { why: "the note is given twice".into() }.into());
        }
        let notes = ctx.text("notes", note.or(self.notes), self.notes_file.as_deref())?;
        let words = NewReview {
            verdict: self.verdict,
            domain: self.domain,
            reviewer: self.reviewer,
            commit: self.commit,
            notes,
            is_posted: self.post,
        };
        let app = ctx.app()?;
        let task = next::named_or_only(&app, task, words.verdict)?;
        let post = self.post.then(|| Post::prepare(&app, &task)).transpose()?;
        let mut answer = review::record(&app, &task, &words)?;
        if let Some((post, id)) = post.zip(answer.document.get("id").and_then(Value::as_i64)) {
            answer = answer.note(post.post(id)?);
        }
        ctx.answer(&answer)
    }
}

/// List the reviews that wait for you, or those of a task
///
/// Without a task: the requested reviews that are not given, except those of tasks that you have claimed and those that name
/// another reviewer.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway review list
fairway review list T-4")]
pub struct ListArgs {
    /// Task id: all its reviews, oldest first
    #[arg(value_parser = values::task)]
    task: Option<TaskId>,
    /// Every requested review, also those that wait for others
    #[arg(long, conflicts_with = "task")]
    all: bool,
}

impl ListArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        let Some(task) = &self.task else { return requested(ctx, list::requested(&app)?, self.all) };
        let found = list::of_task(&app, task)?;
        ctx.show(
            &found,
            || ids(&found),
            || {
                let mut table = Table::new(&["id", "domain", "status", "verdict", "commit", "reviewer", "age"]);
                for one in &found {
                    table.row([
                        one.id.to_string(),
                        one.domain.clone(),
                        one.status.to_string(),
                        dash(one.verdict.map(Verdict::as_str)),
                        dash(one.commit.as_deref()),
                        dash(one.reviewer.as_deref()),
                        age(&one.created_at, ctx.env.now()),
                    ]);
                }
                if table.is_empty() { "no reviews\n".into() } else { table.coloured(ctx.out.width, ctx.out.style) }
            },
        )
    }
}

fn requested(ctx: &Context, requested: list::Requested, all: bool) -> Result<Exit> {
    let list::Requested { own: mut shown, others } = requested;
    let count = others.len();
    if all {
        shown.extend(others);
        shown.sort_by_key(|review| review.id);
    } else if count > 0 {
        let count = plural::count(count, "review");
        ctx.out.note(&format!("not shown: {count} requested of others: fairway review list --all"));
    }
    ctx.show(
        &shown,
        || ids(&shown),
        || {
            let mut table = Table::new(&["id", "task", "domain", "reviewer", "at"]);
            for one in &shown {
                table.row([
                    one.id.to_string(),
                    one.task_id.clone(),
                    one.domain.clone(),
                    dash(one.reviewer.as_deref()),
                    one.created_at.clone(),
                ]);
            }
            if table.is_empty() { "no reviews wait\n".into() } else { table.render(ctx.out.width) }
        },
    )
}

fn ids(reviews: &[ReviewView]) -> Vec<String> {
    reviews.iter().map(|one| one.id.to_string()).collect()
}

fn dash(text: Option<&str>) -> String {
    text.unwrap_or("-").chars().take(40).collect()
}

/// Withdraw a review request, or your negative verdict
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway review withdraw 3")]
#[command(mut_arg("force", |arg| arg.help("Withdraw the review of another actor; needs --reason")))]
pub struct WithdrawArgs {
    /// Review number
    #[arg(value_name = "ID")]
    id: i64,
    #[command(flatten)]
    force: ForceArgs,
}

/// Comment on a line of a task's work
///
/// It stands on a line of a commit and follows it through a rework. The author is told of all your comments at once, when you
/// record a verdict. It is open until a commit of the author changes the line, or you resolve it.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway review comment T-4 src/cart.rs:12 'count each item'")]
pub struct CommentArgs {
    /// Task id
    #[arg(value_parser = values::task)]
    task: TaskId,
    /// File and number of the line, as src/cart.rs:12
    #[arg(value_name = "FILE:LINE", value_parser = place)]
    place: LinePlace,
    /// Text; - reads stdin
    #[arg(value_name = "TEXT", required_unless_present = "text_file")]
    text: Option<String>,
    /// Read the text from FILE; - reads stdin
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    text_file: Option<PathBuf>,
    /// Commit; default: the task's, else HEAD
    #[arg(long, value_name = "SHA", value_parser = values::commit)]
    commit: Option<String>,
}

fn place(text: &str) -> Result<LinePlace, String> {
    LinePlace::parse(text).ok_or_else(|| format!("'{}' is no FILE:LINE, as src/cart.rs:12", text.escape_debug()))
}

impl CommentArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let text = ctx.text("comment", self.text, self.text_file.as_deref())?;
        let text = text.ok_or_else(|| Refusal::invalid("comment", "is empty"))?;
        ctx.answer(&comments::comment(&ctx.app()?, &self.task, &self.place, &text, self.commit.as_deref())?)
    }
}

/// List the open comments on a task's lines
///
/// Without a task: of the only one that you have claimed. To answer one, change the line, commit and submit again. To leave the
/// line as it is, tell the reviewer why: only the reviewer can resolve the comment.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway review comments
fairway review comments T-4 --all")]
pub struct CommentsArgs {
    /// Task id, if you have claimed several or none
    #[arg(value_parser = values::task)]
    task: Option<TaskId>,
    /// Answered and resolved ones too
    #[arg(long)]
    all: bool,
}

impl CommentsArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        let form = |task: &TaskId| format!("fairway review comments {task}");
        let found = comments::list(&app, &claimed_task::named_or_only(&app, self.task, form)?, self.all)?;
        ctx.show(
            &found,
            || found.iter().map(|one| one.id.to_string()).collect(),
            || {
                let mut table = Table::new(&["id", "status", "line", "reviewer", "comment"]);
                for one in &found {
                    let place = format!("{}:{}", one.path, one.line);
                    table.row([&one.id.to_string(), one.status.as_str(), &place, &one.reviewer, &one.text]);
                }
                if table.is_empty() { "no comments\n".into() } else { table.coloured(ctx.out.width, ctx.out.style) }
            },
        )
    }
}

/// Resolve your comment on a line
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway review resolve 2")]
#[command(mut_arg("force", |arg| arg.help("Resolve the comment of another reviewer; needs --reason")))]
pub struct ResolveArgs {
    /// Comment number
    #[arg(value_name = "ID")]
    id: i64,
    #[command(flatten)]
    force: ForceArgs,
}
