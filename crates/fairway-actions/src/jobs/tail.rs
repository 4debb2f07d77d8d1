//! The last lines of a job's output, without reading what is before them.

use anyhow::Result;

use super::find;
use super::output::JobReader;
use super::output_decoder::{DecodedItem, Decoder};
use crate::App;
use fairway_core::domain::job::ItemType;
use fairway_core::supervisor::JobDir;

/// How many items are read at once on the way back, at first and at most.
const BATCH: [i64; 2] = [64, 4_096];

/// Where the last lines begin.
#[derive(Debug)]
pub struct Tail {
    /// The lines are in the items after this sequence number.
    pub since_seq: i64,
    /// Complete lines before them.
    surplus: usize,
    /// Whether a stream's text begins within a line. The mask would not know a secret that begins before it, so the rest of such a
    /// line is left out.
    is_cut: [bool; 2],
}

impl Tail {
    /// Finds the last `lines` lines of a job's output, of one stream if it is given.
    ///
    /// # Errors
    /// `not_found`, `ambiguous`; errors of the stores or the job's directory.
    pub fn find(app: &App, job: &str, lines: usize, stream: Option<ItemType>) -> Result<Self> {
        let mut tail = Self { since_seq: 0, surplus: 0, is_cut: [false; 2] };
        let job = app.read(|tx| find::of_actor(app, tx, job))?;
        let mut reader = JobReader::new();
        let Some(output) = reader.output(app)? else { return Ok(tail) };
        let dir = JobDir::of(&app.project.jobs_dir(), &job.id);
        let decoder = Decoder::new(output, &job.id, dir, job.status.is_final());
        let ([mut batch, largest], mut before) = (BATCH, i64::MAX);
        // The newest text of each stream may be an unfinished line, which counts as one.
        let (mut found, mut ends): (usize, [Option<bool>; 2]) = (0, [None; 2]);
        loop {
            let mut items = match stream {
                Some(stream) => output.before_in_stream(&job.id, stream, before, batch)?,
                None => output.newest_before(&job.id, before, batch)?,
            };
            let is_all = items.len() < usize::try_from(batch)?;
            items.reverse();
            for piece in decoder.decode(&items)?.iter().rev().filter(|piece| piece.kind != ItemType::Event) {
                let end = &mut ends[index(piece.kind)];
                if end.is_none() && !piece.text.is_empty() {
                    *end = Some(piece.text.ends_with('\n'));
                }
                found += piece.text.matches('\n').count();
            }
            before = items.first().map_or(before, |item| item.seq);
            let unfinished = ends.iter().filter(|end| **end == Some(false)).count();
            let cut = if is_all { 0 } else { ends.iter().flatten().count() };
            if is_all || found + unfinished >= lines + cut {
                tail.surplus = (found + unfinished).saturating_sub(lines + cut);
                if !is_all {
                    tail.since_seq = before - 1;
                    tail.is_cut = [true; 2];
                }
                return Ok(tail);
            }
            batch = (batch * 4).min(largest);
        }
    }

    /// Removes from the text of the next item what is before the last lines.
    pub fn trim(&mut self, piece: &mut DecodedItem) {
        if piece.kind == ItemType::Event {
            return;
        }
        let is_cut = &mut self.is_cut[index(piece.kind)];
        let mut rest = piece.text.as_str();
        while *is_cut || self.surplus > 0 {
            // A cut line was not counted. One that is left out in part is left out as a whole.
            let counts = usize::from(!*is_cut);
            let Some((_, after)) = rest.split_once('\n') else {
                *is_cut |= !rest.is_empty();
                self.surplus -= counts.min(usize::from(!rest.is_empty()));
                rest = "";
                break;
            };
            (rest, *is_cut) = (after, false);
            self.surplus -= counts;
        }
        piece.text = rest.to_owned();
    }
}

fn index(stream: ItemType) -> usize {
    usize::from(stream == ItemType::Stderr)
}
