//! Work that its pull request sends back: the facts that are not told yet, and the message about them.

use std::fmt::Write as _;

use anyhow::Result;
use serde_json::{Value, json};

use super::base::{self, Base};
use super::finish;
use super::pull_reviews::{MAX_CHARS, NewWords, PullReviews};
use super::sent_back::{tell_workers, tell_workers_once};
use fairway_core::domain::excerpt::excerpt;
use fairway_core::domain::landing::LandingState;
use fairway_core::domain::pull_request::{ForgeCheck, ForgeLog, ForgeReview};
use fairway_core::domain::quote::{Mark, quote_up_to};
use fairway_core::domain::review::LinePlace;
use fairway_core::domain::task::TaskStatus;
use fairway_core::store::{WriteTx, pull_requests};

impl PullReviews<'_> {
    /// Tells the author once what is to be mended: demanded checks that failed and verdicts at the commit that was proposed, and
    /// comments on lines. The work goes back, unless those who comment have approved it. Returns whether the author was told.
    pub(super) fn send_back(&self) -> Result<bool> {
        let Self { unit, state, pull: known, .. } = self;
        // What is worked on again will come with another commit, and what is said meanwhile is told then.
        if !unit.members.iter().any(|one| one.task.state.status() == TaskStatus::Review) {
            return Ok(false);
        }
        let verdicts = state.verdicts(self.trusted());
        let is_at_head = |one: &&&ForgeReview| one.commit.as_ref() == Some(&known.commit);
        let (mut is_back, mut facts, mut reasons) = (false, Vec::new(), Vec::new());
        for check in state.failed().filter(|_| state.pull.head == known.commit) {
            let fact = format!("check {} {} {}", known.commit, check.name, check.id.as_deref().unwrap_or_default());
            if self.is_new(&fact)? {
                is_back = true;
                facts.push(fact);
                reasons.push(self.failed_check(check));
            }
        }
        for review in verdicts.iter().filter(is_at_head).filter(|one| one.verdict == "changes_requested") {
            let fact = format!("review {}", review.id);
            if self.is_new(&fact)? {
                is_back = true;
                facts.push(fact);
                let text = quote_up_to(&review.body, MAX_CHARS, Mark::Data);
                reasons.push(format!("{} asks for changes:\n{text}", excerpt(&review.author)));
            }
        }
        let new_words = self.new_words()?;
        for NewWords { comment, author, text, facts: of_words } in &new_words {
            let approves = |one: &&ForgeReview| one.author == *author && one.verdict == "approved";
            is_back |= !verdicts.iter().filter(is_at_head).any(approves);
            facts.extend(of_words.iter().cloned());
            let (LinePlace { path, line }, id, author) = (&comment.place, comment.id, excerpt(author));
            let text = quote_up_to(text, MAX_CHARS, Mark::Data);
            reasons.push(format!("{}:{line} (comment {id}), {author}:\n{text}", excerpt(path)));
        }
        if reasons.is_empty() {
            return Ok(false);
        }
        let (number, label) = (known.number.unwrap_or_default(), unit.label());
        let heads: Vec<&str> = reasons.iter().filter_map(|text| text.lines().next()).collect();
        let error = format!("#{number}: {}", heads.join("; ").trim_end_matches(':'));
        let mut text = if is_back {
            format!("{label} was sent back from its pull request #{number}.")
        } else {
            format!("{label} has comments on its pull request #{number}, and is approved.")
        };
        for reason in &reasons {
            text.push('\n');
            text.push_str(reason.trim_end());
        }
        if !new_words.is_empty() {
            let _ = write!(text, "\nTo answer a comment, change its line: fairway review comments {}", unit.word());
        }
        let see = known.url.as_deref().unwrap_or_default();
        let _ = write!(text, "\nSee it: {see}\nNext, submit what mends it: fairway task submit {}", unit.word());
        let told = |tx: &WriteTx<'_>| facts.iter().try_for_each(|fact| pull_requests::tell(tx, known.id, fact));
        if !is_back {
            let (key, metadata) =
                (format!("pull {} {}", known.id, facts.join(" ")), json!({ "tasks": unit.task_ids() }));
            self.app.transaction(|tx| {
                told(tx)?;
                tell_workers_once(tx, unit, &key, &text, &metadata)
            })?;
            return Ok(true);
        }
        let (name, commit) = (unit.base.clone(), base::commit(self.app, &unit.base)?);
        let base = Base { name, commit, checkout: None };
        let mut landing = finish::begin(self.app, unit, &base, LandingState::Checking, None, None)?;
        finish::sent_back(self.app, unit, &mut landing, &error, |tx, id| {
            told(tx)?;
            tell_workers(tx, unit, id, &text)
        })?;
        Ok(true)
    }

    fn is_new(&self, fact: &str) -> Result<bool> {
        self.app.read(|tx| Ok(!pull_requests::is_told(tx, self.pull.id, fact)?))
    }

    /// Name, log and address of a failed check, and the command that repeats it here if a task has a check of that name.
    fn failed_check(&self, check: &ForgeCheck) -> String {
        let mut text = format!("The check '{}' fails:", excerpt(&check.name));
        let log = check.id.as_ref().map(|id| self.forge.ask::<ForgeLog>(&["log", id], &Value::Null));
        match log {
            Some(Ok(ForgeLog { log })) => {
                text.push('\n');
                text.push_str(quote_up_to(&log, MAX_CHARS, Mark::Data).trim_end());
            }
            Some(Err(failure)) => {
                let _ = write!(text, " no log ({})", excerpt(&failure.message));
            }
            None => text.push_str(" no log"),
        }
        if let Some(url) = &check.url {
            let _ = write!(text, "\n{}", url.replace(char::is_control, " "));
        }
        let all = self.unit.members.iter().flat_map(|one| one.task.fields.checks.iter().map(|own| (&one.task.id, own)));
        if let Some((task, _)) = all.into_iter().find(|(_, own)| own.name.as_str() == check.name) {
            let _ = write!(text, "\nRepeat it here: fairway evidence run {task} --check {}", check.name);
        }
        text
    }
}
