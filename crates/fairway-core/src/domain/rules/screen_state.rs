//! The state that a session's screen shows, by the texts of its provider's profile. A screen never says that work goes on: only
//! that a question is open, or that nothing moves. Text that is typed into a question is its answer.

use std::time::Duration;

use crate::domain::session::{Activity, Session, SessionStatus};
use crate::env::Timestamp;
/// How long a screen must have stayed unchanged, and how long ago the last hook must be, before the screen is judged.
pub const STILL_FOR: Duration = Duration::from_secs(10);

pub fn shows_any(screen: &str, texts: &[String]) -> bool {
    texts.iter().any(|text| screen.contains(text.as_str()))
}

/// The facts about a session before its screen is looked at.
#[derive(Debug, Clone, Copy)]
pub struct IdleFacts<'a> {
    pub session: &'a Session,
    pub last_hook_at: Option<Timestamp>,
    /// How many of its tool calls have begun and not ended.
    pub open_calls: u32,
    /// Whether an approval of it is pending that the end of its turn does not answer.
    pub has_pending_approval: bool,
}

impl IdleFacts<'_> {
    /// The time from which on the screen is evidence that the session's turn is over; `None` when it cannot be. Hooks report the
    /// turns that end by themselves; the screen is for those that a person ended. While a tool call waits for a permission, that
    /// call does not count as open.
    ///
    /// `is_interrupted`: the screen shows that the turn ended in the middle of a tool call, so no call counts as open.
    pub fn judged_from(&self, is_interrupted: bool) -> Option<Timestamp> {
        let session = self.session;
        let allowed_calls = match session.activity {
            Activity::Busy => 0,
            Activity::RequiresAction => 1,
            _ => return None,
        };
        let has_open_call = self.open_calls > allowed_calls && !is_interrupted;
        if session.status != SessionStatus::Running || has_open_call || self.has_pending_approval {
            return None;
        }
        let since = self.last_hook_at.into_iter().chain(session.activity_at).max()?;
        Some(since.plus(STILL_FOR))
    }
}

/// How many of the last lines with text an open question can be in. A program asks at the end of its screen; a question that
/// was answered may stay above.
const MAX_LINES: usize = 14;

/// The first of `signs` that a screen shows; `screen` is text without control sequences. Runs of blanks and the lines of boxes
/// are ignored, and a sign may be broken over lines.
pub fn find_question<'a>(screen: &str, signs: &'a [String]) -> Option<&'a str> {
    let shown = unframed(&last_lines(screen).join(" "));
    signs.iter().map(String::as_str).find(|sign| {
        let sign = unframed(sign);
        !sign.is_empty() && shown.contains(&sign)
    })
}

/// The question that a sign belongs to, without the frame and the cursor around its text. Where the sign is one of the choices
/// below a question, that is the last line above with a question mark, up to it; else the last line of the screen that contains
/// the sign. Returns the sign itself when it is broken over lines.
pub fn question_line<'a>(screen: &'a str, sign: &'a str) -> &'a str {
    const CURSORS: [char; 4] = ['❯', '›', '●', '>'];
    let is_frame = |character: char| {
        character.is_whitespace() || ('\u{2500}'..='\u{25ff}').contains(&character) || "❯›>|".contains(character)
    };
    let lines: Vec<&str> = last_lines(screen).iter().map(|line| line.trim_matches(is_frame)).collect();
    let raw = last_lines(screen);
    let Some(at) = lines.iter().rposition(|line| line.contains(sign)) else { return sign };
    let is_choice = |line: &&str| {
        let text = line.trim_start_matches(|character: char| character.is_whitespace() || character == '│');
        text.starts_with(CURSORS) || text.get(..2).is_some_and(|number| number.ends_with('.'))
    };
    let near = raw.get(at.saturating_sub(1)..=at).unwrap_or_default();
    let mut above = lines.get(..at).unwrap_or_default().iter().rev();
    let asked = above.find_map(|line| line.get(..=line.find('?')?));
    let own = lines.get(at).copied().unwrap_or(sign);
    asked.filter(|_| near.iter().any(is_choice)).unwrap_or(own)
}

/// The last lines with text.
fn last_lines(screen: &str) -> Vec<&str> {
    let lines: Vec<&str> = screen.lines().filter(|line| !line.trim().is_empty()).collect();
    lines.get(lines.len().saturating_sub(MAX_LINES)..).unwrap_or_default().to_vec()
}

/// Text with single blanks, without the lines of boxes.
fn unframed(text: &str) -> String {
    let text = text.replace(|character: char| matches!(character, '\u{2500}'..='\u{257f}'), " ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::built_in_profiles;
    use crate::domain::session::tests::session;

    /// The recorded screens: each is of a provider, in a state, as wide as its last part.
    fn screens() -> Vec<(String, String, String)> {
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/screens");
        let read = |entry: std::io::Result<std::fs::DirEntry>| {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let (provider, rest) = name.split_once('-').unwrap();
            let (state, _width) = rest.rsplit_once('-').unwrap();
            (provider.to_owned(), state.to_owned(), std::fs::read_to_string(&path).unwrap())
        };
        std::fs::read_dir(dir).unwrap().map(read).collect()
    }

    #[test]
    fn profiles_tell_the_recorded_screens_of_each_provider_apart() {
        let profiles = built_in_profiles();
        let screens = screens();
        for (provider, state, screen) in &screens {
            let profile = &profiles[provider.as_str()];
            let of = |texts: &Option<Vec<String>>| texts.clone().unwrap_or_default();
            let works = shows_any(screen, &of(&profile.working_sign));
            let trust = find_question(screen, &of(&profile.trust_question)).is_some();
            let permission = find_question(screen, &of(&profile.permission_question)).is_some();
            let expected = match state.as_str() {
                "working" | "working_tool" => (true, false, false),
                "trust" | "hooks_review" | "login" | "login_way" | "login_key" => (false, true, false),
                "permission" | "permission_check" | "choices" | "limit" => (false, false, true),
                "idle" | "interrupted" | "refused" => (false, false, false),
                other => panic!("{other}"),
            };
            assert_eq!((works, trust, permission), expected, "{provider} {state}:\n{screen}");
        }
        // A profile for structured sessions alone has no screen.
        for (provider, _) in profiles.iter().filter(|(_, profile)| profile.facts.prompt_args.is_some()) {
            for state in ["working", "trust", "permission", "idle", "interrupted", "limit"] {
                assert!(screens.iter().any(|(of, is, _)| of == provider && is == state), "{provider} {state}");
            }
        }
        assert!(screens.iter().any(|(_, state, _)| state == "hooks_review"));
    }

    #[test]
    fn screen_is_asked_only_about_a_turn_without_running_calls() {
        let at = Timestamp::from_millis;
        let busy = session(SessionStatus::Running).with_activity(Activity::Busy, None, "hook", at(1_000));
        let facts =
            IdleFacts { session: &busy, last_hook_at: Some(at(2_000)), open_calls: 0, has_pending_approval: false };
        assert_eq!(facts.judged_from(false), Some(at(12_000)));
        assert_eq!(IdleFacts { open_calls: 1, ..facts }.judged_from(false), None);
        assert_eq!(IdleFacts { open_calls: 1, ..facts }.judged_from(true), Some(at(12_000)));
        assert_eq!(IdleFacts { has_pending_approval: true, ..facts }.judged_from(false), None);
        let asks = busy.with_activity(Activity::RequiresAction, None, "hook", at(3_000));
        assert_eq!(IdleFacts { session: &asks, open_calls: 1, ..facts }.judged_from(false), Some(at(13_000)));
        assert_eq!(IdleFacts { session: &asks, open_calls: 2, ..facts }.judged_from(false), None);
        for other in [Activity::Idle, Activity::Unknown, Activity::Stopping] {
            let other = busy.with_activity(other, None, "hook", at(1_000));
            assert_eq!(IdleFacts { session: &other, ..facts }.judged_from(false), None);
        }
        let stale = Session { status: SessionStatus::Stale, ..busy.clone() };
        assert_eq!(IdleFacts { session: &stale, ..facts }.judged_from(false), None);
    }

    fn signs() -> Vec<String> {
        ["", "Do you trust the files in this directory?", "Yes, allow once"].map(str::to_owned).to_vec()
    }

    #[test]
    fn sign_is_found_inside_a_box_and_over_broken_lines() {
        for screen in [
            "Do you trust the files in this directory?\n❯ 1. Yes",
            "╭────╮\n│ Do you trust the   │\n│ files in this directory? │\n╰────╯",
            "$ agent\n\n   Do you trust   the files in this directory?\n\n\n",
        ] {
            assert_eq!(find_question(screen, &signs()), Some("Do you trust the files in this directory?"), "{screen}");
        }
        assert_eq!(find_question("  2. Yes, allow once", &signs()), Some("Yes, allow once"));
    }

    #[test]
    fn screen_without_a_question_at_its_end_is_none() {
        assert_eq!(find_question("", &signs()), None);
        assert_eq!(find_question("❯ \n  ? for shortcuts", &signs()), None);
        let answered = format!("Do you trust the files in this directory?\n{}❯ ", "a line\n".repeat(MAX_LINES - 1));
        assert_eq!(find_question(&answered, &signs()), None);
        assert_eq!(find_question("Do you trust the files in this directory?", &[]), None);
    }

    #[test]
    fn line_of_a_sign_has_no_frame_and_a_broken_sign_stands_for_itself() {
        assert_eq!(question_line("\n│ ❯ 2. Yes, allow once │\n\n", "Yes, allow"), "2. Yes, allow once");
        assert_eq!(question_line("│ Yes, │\n│ allow │", "Yes, allow"), "Yes, allow");
        // A choice below a question is not the question.
        let asked = "╭──╮\n│ Do you trust it? │\n│ It may run code. │\n│ ● 1. Yes │\n│   2. Yes, all of it │\n╰──╯";
        assert_eq!(question_line(asked, "2. Yes, all"), "Do you trust it?");
        assert_eq!(
            question_line(" One you trust? (Or\n not).\n\n ❯ No, exit\n   Yes, it is\n", "Yes, it is"),
            "One you trust?"
        );
        assert_eq!(
            question_line("Before?\n\n  Hooks need review\n  8 are new.\n", "Hooks need review"),
            "Hooks need review"
        );
    }
}
