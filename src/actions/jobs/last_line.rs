//! The newest line of a job's output.

use super::{output, output_decoder::Decoder, view::JobReader};
use crate::{
    actions::App,
    domain::{ansi, job::Job},
    supervisor::JobDir,
};

/// The last line of a job's output that is not empty, without control sequences and with secrets masked. `None` when there
/// is none or the output cannot be read: a damaged output store hides no job.
pub(in crate::actions) fn last_line(app: &App, reader: &mut JobReader, job: &Job) -> Option<String> {
    let output = reader.output(app).ok().flatten()?;
    let dir = JobDir::of(&app.project.jobs_dir(), &job.id);
    let decoder = Decoder::new(output, &job.id, dir, job.status.is_final());
    let text = output::snippet(output, &decoder, job).ok()?;
    let text = ansi::visible_text(&text);
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}
