//! Watchers of a job's output: regular expressions that are matched against whole lines.
//!
//! A match becomes an event item. The first match of a watcher sends a notification at once. The matches of the next second
//! share one notification, sent with an item at the end of that second. Each item is stored with the key of its
//! notification, so that a crash of the supervisor neither loses nor repeats one. The hit count is stored with the items, so
//! a watcher that reports once does so across crashes.

mod line_splitter;
mod patterns;
mod rate_limit;

use std::time::Duration;

use regex::Regex;
use serde_json::json;

use self::line_splitter::LineSplitter;
use self::rate_limit::{Cooldown, Reporting, Suppressed};
use crate::domain::job::ItemType;
use crate::domain::job_output::{WatchScope, Watcher, WatcherState};
use crate::domain::{Refusal, secrets};

/// How much of a line an item holds, in characters.
const MAX_DISPLAYED_CHARS: usize = 1_000;

/// A match, to be written as an event item with the hit count of its watcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchEvent {
    /// The watcher's index, from 0.
    pub place: usize,
    /// How often the watcher has matched so far.
    pub hits: i64,
    /// The line, masked.
    pub payload: String,
    /// JSON text with `event`, `watcher`, `stream`, `hits` and `matches` (how many matches the item stands for). With several
    /// matches, `unlisted` counts those whose lines no item holds. At the end of a cooldown it also has `more`: how many matches
    /// the notification reports. `event` is then `more` when all of them had items of their own.
    pub meta: String,
    /// The end of the key of the item's notification, if it sends one.
    pub notification_key: Option<String>,
}

/// The watchers of a running job. Times count from the supervisor's start.
#[derive(Debug, Default)]
pub struct Watchers {
    active: Vec<ActiveWatcher>,
    stdout: LineSplitter,
    stderr: LineSplitter,
}

#[derive(Debug)]
struct ActiveWatcher {
    watcher: Watcher,
    regex: Regex,
    hits: i64,
    cooldown: Option<Cooldown>,
}

/// Checks that a job can have these watchers: that they are not too many, and that their regular expressions are valid.
///
/// # Errors
/// [`Refusal::Usage`] naming the watcher, counted from 1, and what is wrong with it.
pub fn compile(watchers: &[Watcher]) -> Result<(), Refusal> {
    patterns::compile_all(watchers.iter()).map(drop)
}

impl Watchers {
    /// Creates the watchers from their stored states, which include the number of matches in earlier attempts of the job.
    ///
    /// # Errors
    /// [`Refusal::Usage`] as for [`compile`].
    pub fn new(standing: &[WatcherState]) -> Result<Self, Refusal> {
        let compiled = patterns::compile_all(standing.iter().map(|one| &one.watcher))?;
        let at_work = |(one, regex): (&WatcherState, Regex)| ActiveWatcher {
            watcher: one.watcher.clone(),
            regex,
            hits: one.match_count,
            cooldown: None,
        };
        let active = standing.iter().zip(compiled).map(at_work).collect();
        Ok(Self { active, stdout: LineSplitter::default(), stderr: LineSplitter::default() })
    }

    /// Matches the lines that this output completes, and returns the matches to record.
    pub fn feed(&mut self, stream: ItemType, chunk: &[u8], now: Duration) -> Vec<WatchEvent> {
        let mut noticed = Vec::new();
        let Self { active: watchers, stdout, stderr } = self;
        let lines = match stream {
            ItemType::Stdout => stdout,
            ItemType::Stderr => stderr,
            ItemType::Event => return noticed,
        };
        if watchers.iter().any(|one| one.watches(stream)) {
            lines.push(chunk, now, |line, counted| {
                match_line(watchers, stream, line, counted, now, &mut noticed);
            });
        }
        noticed
    }

    /// When [`tick`](Self::tick) must be called even without output; `None` when it need not.
    pub fn due(&self) -> Option<Duration> {
        let cooldowns = self.active.iter().filter_map(|one| one.cooldown.as_ref()?.due());
        cooldowns.chain(self.stdout.due()).chain(self.stderr.due()).min()
    }

    /// Matches unfinished lines that have not grown for a while, and returns the matches to record. They include summaries of the
    /// matches that were held back by cooldowns which are over.
    pub fn tick(&mut self, now: Duration) -> Vec<WatchEvent> {
        let mut noticed = Vec::new();
        let Self { active: watchers, stdout, stderr } = self;
        for (stream, lines) in [(ItemType::Stdout, stdout), (ItemType::Stderr, stderr)] {
            let Some((line, counted)) = lines.idle_partial(now) else { continue };
            let counted = match_line(watchers, stream, line, counted, now, &mut noticed);
            lines.set_counted_by(counted);
        }
        for (place, one) in watchers.iter_mut().enumerate() {
            if one.cooldown.as_ref().is_some_and(|cooldown| cooldown.is_over(now)) {
                one.end_cooldown(place, &mut noticed);
            }
        }
        noticed
    }

    /// Matches the rest of the output, and returns the matches to record, with a summary of all that were held back. Call it when
    /// the output has ended.
    pub fn finish(&mut self, now: Duration) -> Vec<WatchEvent> {
        let mut noticed = Vec::new();
        let Self { active: watchers, stdout, stderr } = self;
        for (stream, lines) in [(ItemType::Stdout, stdout), (ItemType::Stderr, stderr)] {
            lines.finish(|line, counted| {
                match_line(watchers, stream, line, counted, now, &mut noticed);
            });
        }
        for (place, one) in watchers.iter_mut().enumerate() {
            one.end_cooldown(place, &mut noticed);
        }
        noticed
    }
}

/// Matches a line against the watchers that have not counted it. Returns one bit for each watcher that has counted it now.
fn match_line(
    watchers: &mut [ActiveWatcher],
    stream: ItemType,
    line: &[u8],
    mut counted: u32,
    now: Duration,
    noticed: &mut Vec<WatchEvent>,
) -> u32 {
    let text = line_splitter::visible_line(line);
    for (place, one) in watchers.iter_mut().enumerate() {
        if counted & (1 << place) == 0 && one.watches(stream) && one.regex.is_match(&text) {
            counted |= 1 << place;
            one.record_match(place, stream, &text, now, noticed);
        }
    }
    counted
}

impl ActiveWatcher {
    fn watches(&self, stream: ItemType) -> bool {
        let within = match self.watcher.scope {
            WatchScope::Both => true,
            WatchScope::Stdout => stream == ItemType::Stdout,
            WatchScope::Stderr => stream == ItemType::Stderr,
        };
        within && !(self.watcher.once && self.hits > 0)
    }

    fn record_match(
        &mut self,
        place: usize,
        stream: ItemType,
        line: &str,
        now: Duration,
        noticed: &mut Vec<WatchEvent>,
    ) {
        if self.cooldown.as_ref().is_some_and(|cooldown| cooldown.is_over(now)) {
            self.end_cooldown(place, noticed);
        }
        self.hits += 1;
        let told = match &mut self.cooldown {
            Some(cooldown) => cooldown.add_match(stream, line),
            None => {
                self.cooldown = Some(Cooldown::start(now));
                Reporting::Immediate
            }
        };
        let kind = match told {
            Reporting::Immediate => "match",
            Reporting::ItemOnly => "later",
            Reporting::Summarized => return,
        };
        let meta = json!({
            "event": self.watcher.event.as_str(), "watcher": place, "stream": stream.as_str(), "hits": self.hits,
            "matches": 1,
        });
        noticed.push(WatchEvent {
            place,
            hits: self.hits,
            payload: display_line(line),
            meta: meta.to_string(),
            notification_key: Some(format!("{kind}-{place}-{}", self.hits)),
        });
    }

    /// Ends the cooldown and reports the matches that it held back.
    fn end_cooldown(&mut self, place: usize, noticed: &mut Vec<WatchEvent>) {
        let Some(Suppressed { unnotified: unsaid, without_item: held, last }) =
            self.cooldown.take().and_then(Cooldown::finish)
        else {
            return;
        };
        let event = self.watcher.event.as_str();
        let (payload, meta) = match last {
            Some((stream, line)) => {
                let meta = json!({
                    "event": event, "watcher": place, "stream": stream.as_str(), "hits": self.hits, "matches": held,
                    "unlisted": held - 1, "more": unsaid,
                });
                (display_line(&line), meta)
            }
            None => {
                let meta = json!({
                    "event": "more", "of": event, "watcher": place, "hits": self.hits, "matches": 0, "more": unsaid,
                });
                let times = if unsaid == 1 { "once".to_owned() } else { format!("{unsaid} times") };
                (format!("{event} matched {times} more within a second"), meta)
            }
        };
        let notification_key = Some(format!("more-{place}-{}", self.hits));
        noticed.push(WatchEvent { place, hits: self.hits, payload, meta: meta.to_string(), notification_key });
    }
}

/// The text of a line in an item: masked and shortened.
fn display_line(line: &str) -> String {
    // A secret that was cut is not recognized any more. So the line is masked first, in a longer part than is shown.
    let near: String = line.chars().take(MAX_DISPLAYED_CHARS * 4).collect();
    let masked = secrets::mask(&near);
    if masked.chars().nth(MAX_DISPLAYED_CHARS).is_none() {
        return masked;
    }
    masked.chars().take(MAX_DISPLAYED_CHARS - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;
    use crate::domain::id::Label;

    const NOW: Duration = Duration::ZERO;
    const OUT: ItemType = ItemType::Stdout;
    const ERR: ItemType = ItemType::Stderr;

    fn watcher(regex: &str, event: &str, once: bool, scope: WatchScope) -> Watcher {
        Watcher { regex: regex.into(), event: Label::parse(event).unwrap(), once, scope }
    }

    fn plain(regex: &str) -> Watcher {
        watcher(regex, "seen", false, WatchScope::Both)
    }

    fn watching(watchers: &[Watcher]) -> Watchers {
        let standing: Vec<_> =
            watchers.iter().map(|one| WatcherState { watcher: one.clone(), match_count: 0 }).collect();
        Watchers::new(&standing).unwrap()
    }

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn payloads(noticed: &[WatchEvent]) -> Vec<&str> {
        noticed.iter().map(|one| one.payload.as_str()).collect()
    }

    fn meta(noticed: &WatchEvent) -> Value {
        serde_json::from_str(&noticed.meta).unwrap()
    }

    #[test]
    fn pattern_split_at_every_offset_is_found_once() {
        let all = "before\r\nthe Grüße 👋 FAILED here\nafter\n".as_bytes();
        for first in 0..=all.len() {
            for second in first..=all.len() {
                let mut watching = watching(&[plain("Grüße 👋 FAILED")]);
                let mut noticed = Vec::new();
                for chunk in [&all[..first], &all[first..second], &all[second..]] {
                    noticed.extend(watching.feed(OUT, chunk, NOW));
                }
                noticed.extend(watching.finish(NOW));
                assert_eq!(payloads(&noticed), ["the Grüße 👋 FAILED here"], "{first} {second}");
            }
        }
    }

    #[test]
    fn watcher_sees_its_scope_only_and_streams_do_not_mix() {
        let mut watching = watching(&[
            watcher("bad", "out", false, WatchScope::Stdout),
            watcher("bad", "err", false, WatchScope::Stderr),
            watcher("bad", "both", false, WatchScope::Both),
        ]);
        let mut events = |stream, chunk: &[u8]| -> Vec<String> {
            let noticed = watching.feed(stream, chunk, NOW);
            noticed.iter().map(|one| format!("{} {}", meta(one)["event"], meta(one)["stream"])).collect()
        };
        assert_eq!(events(OUT, b"b"), [""; 0]);
        assert_eq!(events(ERR, b"ad\n"), [""; 0]);
        assert_eq!(events(OUT, b"ad\n"), ["\"out\" \"stdout\"", "\"both\" \"stdout\""]);
        assert_eq!(events(ERR, b"bad\n"), ["\"err\" \"stderr\"", "\"both\" \"stderr\""]);
    }

    #[test]
    fn once_is_once_also_when_it_stood_so_before() {
        let once = watcher("x", "x", true, WatchScope::Both);
        let mut watching = watching(std::slice::from_ref(&once));
        assert_eq!(watching.feed(OUT, b"x\nx\n", NOW).len(), 1);
        assert_eq!((watching.feed(OUT, b"x", NOW), watching.due(), watching.finish(NOW)), (vec![], None, vec![]));
        let mut again = Watchers::new(&[WatcherState { watcher: once, match_count: 1 }]).unwrap();
        assert_eq!(again.feed(OUT, b"x\n", NOW), []);
        let more = WatcherState { watcher: plain("x"), match_count: 7 };
        assert_eq!(
            Watchers::new(&[more]).unwrap().feed(OUT, b"x\n", NOW)[0].notification_key.as_deref(),
            Some("match-0-8")
        );
    }

    #[test]
    fn prompt_is_noticed_after_a_silence_and_not_a_second_time_when_its_line_goes_on() {
        let mut watching = watching(&[plain("word: ?$"), plain("secret")]);
        assert_eq!(watching.feed(OUT, b"Pass", NOW), []);
        assert_eq!(watching.feed(OUT, b"word: ", ms(100)), []);
        assert_eq!((watching.tick(ms(249)), watching.due()), (vec![], Some(ms(250))));
        assert_eq!(payloads(&watching.tick(ms(250))), ["Password: "]);
        assert_eq!(watching.due(), None);
        assert_eq!(payloads(&watching.feed(OUT, b"secret word:\r\n", ms(300))), ["Password: secret word:"]);
        let next = watching.feed(OUT, b"word:\n", ms(2_000));
        assert_eq!(next.len(), 1);
        assert_eq!(meta(&next[0])["watcher"], 0);
    }

    #[test]
    fn storm_has_twenty_items_one_for_the_rest_and_two_messages_at_once() {
        let mut watching = watching(&[plain("x")]);
        let mut noticed = Vec::new();
        for number in 0..100 {
            noticed.extend(watching.feed(ERR, format!("x{number}\n").as_bytes(), ms(number)));
        }
        assert_eq!(noticed.len(), 20);
        assert_eq!(noticed[0].notification_key.as_deref(), Some("match-0-1"));
        assert!(noticed[1..].iter().all(|one| one.notification_key.as_deref().unwrap().starts_with("later-0-")));
        assert_eq!(watching.due(), Some(ms(1_000)));
        assert_eq!(watching.tick(ms(999)), []);
        let rest = watching.tick(ms(1_000));
        assert_eq!((rest.len(), rest[0].hits, rest[0].notification_key.as_deref()), (1, 100, Some("more-0-100")));
        assert_eq!(
            (payloads(&rest), &meta(&rest[0])["matches"], &meta(&rest[0])["more"]),
            (vec!["x99"], &80.into(), &99.into())
        );
        assert_eq!(meta(&rest[0])["unlisted"], 79);
        let matches =
            |noticed: &[WatchEvent]| noticed.iter().map(|one| meta(one)["matches"].as_i64().unwrap()).sum::<i64>();
        assert_eq!(matches(&noticed) + matches(&rest), 100);
        // Then another cooldown begins.
        assert_eq!(watching.feed(OUT, b"x\n", ms(1_001))[0].notification_key.as_deref(), Some("match-0-101"));
        assert_eq!((watching.due(), watching.finish(ms(1_001))), (None, vec![]));
    }

    #[test]
    fn few_matches_at_once_have_an_item_each_and_a_word_on_those_without_a_message() {
        let mut watching = watching(&[plain("x")]);
        assert_eq!(watching.feed(OUT, b"x\nx\nx\n", NOW).len(), 3);
        // So it is when the tick comes late.
        let late = watching.feed(OUT, b"x\n", ms(5_000));
        assert_eq!(payloads(&late), ["seen matched 2 times more within a second", "x"]);
        assert_eq!((&meta(&late[0])["event"], &meta(&late[0])["matches"]), (&"more".into(), &0.into()));
        assert_eq!(late[1].notification_key.as_deref(), Some("match-0-4"));
    }

    #[test]
    fn line_is_kept_masked_and_short() {
        let mut watching = watching(&[plain("token")]);
        let line = format!("\x1b[31mtoken sk-abcdefghijklmnop {}\n", "é".repeat(2_000));
        let noticed = watching.feed(OUT, line.as_bytes(), NOW);
        assert!(noticed[0].payload.starts_with("token ••• éé"), "{}", noticed[0].payload);
        assert_eq!(noticed[0].payload.chars().count(), MAX_DISPLAYED_CHARS);
    }

    proptest! {
        #[test]
        fn how_output_is_cut_changes_nothing(
            pieces in prop::collection::vec(prop::sample::select(vec![
                "a", "b", "é", "👋", "\n", "\r", "\r\n", "\x1b[31m", "\x1b[0m", "\u{8}", "ab", " ", "\t",
            ]), 0..60),
            cuts in prop::collection::vec(0usize..200, 0..12),
        ) {
            let all = pieces.concat().into_bytes();
            let watchers = [plain("ab"), plain("^a"), plain("é👋$"), plain("^$"), watcher("b", "b", true, WatchScope::Both)];
            let whole = {
                let mut watching = watching(&watchers);
                let mut noticed = watching.feed(OUT, &all, NOW);
                noticed.extend(watching.finish(NOW));
                noticed
            };
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(all.len())).chain([0, all.len()]).collect();
            cuts.sort_unstable();
            let mut watching = watching(&watchers);
            let mut noticed: Vec<WatchEvent> =
                cuts.windows(2).flat_map(|cut| watching.feed(OUT, &all[cut[0]..cut[1]], NOW)).collect();
            noticed.extend(watching.finish(NOW));
            prop_assert_eq!(noticed, whole);
        }
    }
}
