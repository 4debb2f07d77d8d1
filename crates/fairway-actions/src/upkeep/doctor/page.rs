//! Findings of `doctor` about the keys of the page: the paired devices, and the certificate in the network.

use std::io::ErrorKind;
use std::time::Duration;

use super::findings::display_path;
use crate::App;
use crate::core::errors;
use crate::upkeep::answer_tokens;
use crate::upkeep::certificate_file::{self, StoredCertificate};
use crate::upkeep::devices::{self, DeviceFile};
use fairway_core::domain::finding::{Finding, Severity};

/// How long before its end a certificate is reported.
const TOLD_BEFORE: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// Whether this module checks the file `name` of the state directory. The general check, which corrects the mode of a file, is
/// not enough for such a file: others may have read or changed it already.
pub(super) fn judges(name: &str) -> bool {
    [devices::NAME, answer_tokens::NAME].iter().any(|known| name.strip_suffix(".json") == Some(known))
        || name == certificate_file::FILE
}

/// Findings when the file of paired devices cannot be used, and when the certificate cannot be used or ends soon.
pub(super) fn find(app: &App) -> Vec<Finding> {
    let devices = DeviceFile::of(&app.project).read().err().map(|error| {
        let failure = errors::classify(&error);
        let message = format!("{}; no device is admitted until then", failure.message);
        let finding = Finding::new(failure.code, Severity::Error, message);
        Finding { fix: failure.hint, ..finding }
    });
    devices.into_iter().chain(certificate(app)).collect()
}

fn certificate(app: &App) -> Option<Finding> {
    let (state, now) = (&app.project.state, app.env.now());
    let path = StoredCertificate::path(state);
    let shown = display_path(app, &path);
    match StoredCertificate::read(state) {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(why) => {
            let message = format!(
                "the certificate of the page in {shown} cannot be used: {why}; a server makes another one when it starts, with \
                 another fingerprint"
            );
            let fix = format!("rm {}", shell_words::quote(&path.display().to_string()));
            Some(Finding::new("certificate_unusable", Severity::Error, message).with_fix(fix))
        }
        Ok(stored) if stored.ends_at <= now.plus(TOLD_BEFORE) => {
            let verb = if stored.ends_at <= now { "ended" } else { "ends" };
            let message = format!(
                "the certificate of the page {verb} at {}; a server makes another one when it starts, with another fingerprint",
                stored.ends_at.to_local()
            );
            Some(Finding::new("certificate_ends", Severity::Warning, message).with_fix("start the server again"))
        }
        Ok(_) => None,
    }
}
