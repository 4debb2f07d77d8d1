//! Interrupted sessions, for readers. When a provider has no hook for an interrupt, its session stays busy until a command that
//! writes looks at the screen ([`super::idle_screen`]). Readers write nothing and call no backend, so they look at the
//! transcript instead.

use std::fs;
use std::path::Path;

use anyhow::Result;

use super::idle_screen;
use crate::App;
use crate::core::session_process;
use fairway_core::adapters::plumbing::transcript;
use fairway_core::adapters::plumbing::transcript_screen::{self, PrintedBy};
use fairway_core::config::ProviderProfile;
use fairway_core::domain::rules::screen_state::{STILL_FOR, find_question, shows_any};
use fairway_core::domain::rules::session_machine::{self, Report, SessionEvent};
use fairway_core::domain::session::{Activity, SCREEN_SOURCE, Session};
use fairway_core::domain::session_facts::SessionOverview;
use fairway_core::env::Timestamp;
use fairway_core::store::ReadTx;

/// How much of a transcript's end is read, in bytes: more than a program prints to draw a screen.
const MAX_BYTES: u64 = 256 << 10;

/// Marks sessions as idle, in `sessions` only, when the end of their transcript shows that a person interrupted the turn and
/// nothing was printed for a while. Returns the earliest time at which it is worthwhile to judge again a session whose transcript
/// can show that and does not yet; `None` without one.
pub(crate) fn judge(app: &App, tx: &ReadTx<'_>, sessions: &mut [SessionOverview]) -> Result<Option<Timestamp>> {
    let now = app.env.now();
    let mut next: Option<Timestamp> = None;
    for one in sessions {
        let Some((profile, printed)) = candidate(app, one) else { continue };
        let still_from = printed.plus(STILL_FOR);
        let from = if now < still_from {
            Some(still_from)
        } else {
            idle_screen::judged_from(tx, &one.session, true)?.map(|from| from.max(still_from))
        };
        let Some(from) = from else { continue };
        if now >= from && is_interrupted(&one.session, &profile) {
            let since = printed.max(from.minus(STILL_FOR));
            let idle = SessionEvent::Seen(Report::of(Activity::Idle, None, SCREEN_SOURCE));
            if let Ok(shown) = session_machine::step(&one.session, &idle, since) {
                one.session = shown.after;
            }
            one.doing = one.doing.take().filter(|doing| doing.source != "activity");
        } else {
            let again = from.max(now.plus(STILL_FOR));
            next = Some(next.map_or(again, |known| known.min(again)));
        }
    }
    Ok(next)
}

/// The profile of a session whose transcript can show an interrupt, and when the transcript was last written.
fn candidate(app: &App, one: &SessionOverview) -> Option<(ProviderProfile, Timestamp)> {
    let session = &one.session;
    if !matches!(one.current_activity(), Some(Activity::Busy | Activity::RequiresAction))
        || !session.has_terminal()
        || !session_process::is_local(session)
    {
        return None;
    }
    let transcript = session.transcript.as_deref()?;
    let profile = app.settings.provider(session.provider.as_ref()?.as_str()).profile;
    profile.facts.interrupted_sign.as_ref().filter(|signs| !signs.is_empty())?;
    let printed = fs::metadata(transcript).and_then(|found| found.modified()).ok()?;
    Some((profile, Timestamp::from_system_time(printed)?))
}

/// Whether the end of a session's transcript shows that its turn was interrupted, and no work or question after that.
fn is_interrupted(session: &Session, profile: &ProviderProfile) -> bool {
    let Some(path) = session.transcript.as_deref().map(Path::new) else { return false };
    let Ok((bytes, _)) = transcript::end(path, MAX_BYTES) else { return false };
    let signs = profile.facts.interrupted_sign.as_deref().unwrap_or_default();
    // Programs draw words whole: without one of the sign there is no screen to be drawn.
    let has_word = |sign: &String| {
        let word = sign.split_whitespace().max_by_key(|word| word.len()).unwrap_or_default().as_bytes();
        !word.is_empty() && bytes.windows(word.len()).any(|part| part == word)
    };
    if !signs.iter().any(has_word) {
        return false;
    }
    let lines = usize::try_from(idle_screen::LINES).unwrap_or(usize::MAX);
    let screen = transcript_screen::of_text(&bytes, PrintedBy::Terminal, lines);
    let questions = [&profile.trust_question, &profile.permission_question];
    let questions: Vec<String> = questions.into_iter().flatten().flatten().cloned().collect();
    find_question(&screen, signs).is_some()
        && !shows_any(&screen, profile.working_sign.as_deref().unwrap_or_default())
        && find_question(&screen, &questions).is_none()
}
