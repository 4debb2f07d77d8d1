//! Verdicts and conversations on a pull request, of people whose words count: a verdict becomes a review, a conversation a comment
//! on a line. A comment that is resolved on one side is resolved on the other.

use anyhow::Result;
use serde_json::Value;

use super::forge::refusal;
use crate::App;
use crate::core::lookup;
use crate::queue::landing_unit::Unit;
use crate::queue::review::{self, Author, comments};
use fairway_core::adapters::forge::Forge;
use fairway_core::domain::pull_request::{
    ForgeComment, ForgeReview, ForgeThread, ForgeWhy, LanePullRequest, PullRequestState, login, reviewer,
};
use fairway_core::domain::review::{LinePlace, Review, ReviewComment, Verdict};
use fairway_core::domain::{Event, EventKind};
use fairway_core::env::Timestamp;
use fairway_core::os::git::Git;
use fairway_core::store::{ReadTx, WriteTx, pull_requests, review_comments, reviews};

/// How much of a text of a forge is kept, in characters.
pub(super) const MAX_CHARS: usize = 4_000;

pub(super) struct PullReviews<'a> {
    pub(super) app: &'a App,
    pub(super) git: &'a Git<'a>,
    pub(super) forge: &'a Forge,
    pub(super) unit: &'a Unit,
    pub(super) pull: &'a LanePullRequest,
    pub(super) state: &'a PullRequestState,
}

/// New words of a conversation: the comment on the line that has them, and their facts.
pub(super) struct NewWords<'a> {
    pub(super) comment: ReviewComment,
    pub(super) author: &'a str,
    pub(super) text: String,
    pub(super) facts: Vec<String>,
}

impl PullReviews<'_> {
    pub(super) fn trusted(&self) -> &[String] {
        &self.app.settings.forge.trusted
    }

    /// Records verdicts and comments, and resolves what was resolved on the other side. Returns notes about what the forge did
    /// not resolve.
    pub(super) fn record(&self) -> Result<Vec<String>> {
        let conversations = self.state.conversations(self.trusted());
        // Git is asked before the transaction.
        let places = conversations.iter().map(|(thread, _)| self.place(thread)).collect::<Result<Vec<_>>>()?;
        self.app.transaction(|tx| {
            for review in self.state.verdicts(self.trusted()) {
                self.verdict(tx, review)?;
            }
            for ((thread, said), place) in conversations.iter().zip(places) {
                self.conversation(tx, thread, said, place)?;
            }
            Ok::<_, anyhow::Error>(())
        })?;
        self.resolve()
    }

    /// Records a verdict for each task once. It counts for the commit that it was given on: for a task's own commit when that is
    /// what the pull request proposes.
    fn verdict(&self, tx: &WriteTx<'_>, given: &ForgeReview) -> Result<()> {
        let fact = format!("verdict {} {}", given.id, given.verdict);
        if pull_requests::is_told(tx, self.pull.id, &fact)? {
            return Ok(());
        }
        let by = reviewer(&given.author);
        for member in &self.unit.members {
            let task = lookup::task(tx, &member.task.id)?;
            let verdict = match &*given.verdict {
                "approved" => Verdict::Approve,
                "changes_requested" => Verdict::Changes,
                _ => {
                    let of_author = |one: &Review| one.actor == by && one.verdict.is_some();
                    if let Some(dismissed) = reviews::of_task(tx, &task.id)?.into_iter().rfind(of_author) {
                        let reason = Some("dismissed on the pull request");
                        review::take_back(&Author::of(self.app)?, tx, &task, &dismissed, reason)?;
                    }
                    continue;
                }
            };
            let is_of_proposed = given.commit.as_ref() == Some(&self.pull.commit);
            let commit = task.commit.clone().filter(|_| is_of_proposed).or_else(|| given.commit.clone());
            let notes: String = given.body.trim().chars().take(MAX_CHARS).collect();
            let notes = Some(notes).filter(|notes| !notes.is_empty());
            review::record_of_forge(self.app, tx, &task, (&by, verdict), commit.as_deref(), notes)?;
        }
        Ok(pull_requests::tell(tx, self.pull.id, &fact)?)
    }

    /// The commit, the place and the text of the line on which a conversation stands. Line 0 is the whole file: so is a comment on
    /// a removed line, which no rework can answer.
    fn place(&self, thread: &ForgeThread) -> Result<(String, LinePlace, String)> {
        if let Some((commit, place)) = thread.place()
            && let Some(text) = self.git.line_at(commit, &place.path, place.line)?
        {
            return Ok((commit.to_owned(), place, text));
        }
        let whole = LinePlace { path: thread.file.clone(), line: 0 };
        Ok((self.pull.commit.clone(), whole, String::new()))
    }

    fn conversation(
        &self,
        tx: &WriteTx<'_>,
        thread: &ForgeThread,
        said: &[&ForgeComment],
        (commit, place, line_text): (String, LinePlace, String),
    ) -> Result<()> {
        let (Some(first), Some(member)) = (said.first(), self.unit.members.first()) else { return Ok(()) };
        let mut content = words(said);
        if let Some(line) = thread.line.filter(|_| place.line == 0) {
            content = format!("(on the {} line {line}) {content}", thread.side);
        }
        let known = self.comment_of(tx, thread)?;
        let written = match known {
            Some(known) if known.content == content => return Ok(()),
            Some(known) => {
                review_comments::set_content(tx, known.id, &content)?;
                ReviewComment { content, ..known }
            }
            None if thread.resolved => return Ok(()),
            None => {
                let (task, reviewer) = (member.task.id.clone(), reviewer(&first.author));
                let (created_at, told_in, resolved) = (Timestamp::from_millis(0), None, None);
                let thread = Some(thread.id.clone());
                let new = ReviewComment {
                    id: 0,
                    task,
                    reviewer,
                    commit,
                    place,
                    line_text,
                    content,
                    created_at,
                    told_in,
                    resolved,
                    thread,
                };
                review_comments::insert(tx, new)?
            }
        };
        tx.record(&self.event(EventKind::ReviewCommented, &written))?;
        Ok(())
    }

    /// The comment here that stands for a conversation there.
    fn comment_of(&self, tx: &ReadTx<'_>, thread: &ForgeThread) -> Result<Option<ReviewComment>> {
        for member in &self.unit.members {
            let all = review_comments::of_task(tx, &member.task.id)?;
            let found = all.into_iter().find(|one| one.thread.as_ref() == Some(&thread.id));
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Whether both sides were resolved is a fact: a conversation that is open in spite of it was opened again there.
    fn resolve(&self) -> Result<Vec<String>> {
        let mut notes = Vec::new();
        for thread in &self.state.threads {
            let Some(comment) = self.app.read(|tx| self.comment_of(tx, thread))? else { continue };
            let fact = format!("resolved {}", thread.id);
            let (id, is_here, pull) = (comment.id, comment.resolved.is_some(), self.pull.id);
            let was = self.app.read(|tx| Ok(pull_requests::is_told(tx, pull, &fact)?))?;
            match (thread.resolved, was) {
                (true, false) => self.app.transaction(|tx| {
                    if !is_here {
                        let by = thread.resolved_by.as_deref().or_else(|| login(&comment.reviewer)).unwrap_or_default();
                        review_comments::resolve(tx, id, &reviewer(by))?;
                        tx.record(
                            &self.event(EventKind::ReviewResolved, &comment).with("reason", "on its pull request"),
                        )?;
                    }
                    Ok::<_, anyhow::Error>(pull_requests::tell(tx, pull, &fact)?)
                })?,
                (false, true) => self.app.transaction(|tx| {
                    review_comments::reopen(tx, id)?;
                    tx.record(&self.event(EventKind::ReviewCommented, &comment))?;
                    for one in &thread.comments {
                        pull_requests::forget(tx, pull, &one.fact())?;
                    }
                    Ok::<_, anyhow::Error>(pull_requests::forget(tx, pull, &fact)?)
                })?,
                (false, false) if is_here => {
                    let number = self.pull.number.unwrap_or_default().to_string();
                    match self.forge.ask::<Value>(&["say", &number, "resolve", &thread.id], &Value::Null) {
                        Ok(_) => {
                            self.app.transaction(|tx| Ok::<_, anyhow::Error>(pull_requests::tell(tx, pull, &fact)?))?;
                        }
                        Err(failure) if failure.stops_all() && failure.why != ForgeWhy::Rights => {
                            return Err(refusal(failure).into());
                        }
                        Err(failure) => {
                            notes.push(format!("comment {id} is resolved here, and not on #{number}: {failure}"));
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(notes)
    }

    /// What was said in open conversations, and is not told yet.
    pub(super) fn new_words(&self) -> Result<Vec<NewWords<'_>>> {
        let mut found = Vec::new();
        for (thread, said) in self.state.conversations(self.trusted()) {
            let (comment, new) = self.app.read(|tx| {
                let mut new = Vec::new();
                for one in said {
                    if !pull_requests::is_told(tx, self.pull.id, &one.fact())? {
                        new.push(one);
                    }
                }
                Ok::<_, anyhow::Error>((self.comment_of(tx, thread)?, new))
            })?;
            let Some(comment) = comment.filter(|one| one.resolved.is_none()) else { continue };
            if let Some(first) = new.first() {
                let facts = new.iter().map(|one| one.fact()).collect();
                found.push(NewWords { comment, author: &first.author, text: words(&new), facts });
            }
        }
        Ok(found)
    }

    fn event(&self, kind: EventKind, comment: &ReviewComment) -> Event {
        comments::event(kind, comment, self.unit.lane_name())
    }
}

/// Comments as one text. Each one of another author than the first has its author.
fn words(said: &[&ForgeComment]) -> String {
    let first = said.first().map(|one| one.author.as_str()).unwrap_or_default();
    let text = |one: &&ForgeComment| match &*one.author {
        author if author == first => one.body.trim().to_owned(),
        author => format!("{author}: {}", one.body.trim()),
    };
    said.iter().map(text).collect::<Vec<_>>().join("\n").chars().take(MAX_CHARS).collect()
}
