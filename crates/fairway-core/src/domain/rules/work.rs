//! Keeping places full of agents: which task starts next, which dead session is relaunched, and why nothing starts. A pure state
//! machine, events in and effects out. Its state is only what a line of the output needs: who has a place is in the store.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::string_enum::string_enum;
use crate::domain::{LaneName, SessionId, TaskId, plural};
use crate::env::Timestamp;

/// How often a session that dies is relaunched.
const MAX_RELAUNCHES: usize = 2;
/// After so many failed starts in a row the cause is no single task, and nothing more starts.
const MAX_FAILURES: usize = 3;

/// What a person has asked for.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    pub places: usize,
    /// Whether it ends as soon as nothing more can start.
    pub is_once: bool,
    /// When it ends.
    pub until: Option<Timestamp>,
    /// Whether it lands what the gates allow.
    pub lands: bool,
}

/// Until when a provider is parked, and the clause about it, such as `parked until 17:00 (usage limit of NAME)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderParking {
    pub until: Timestamp,
    pub clause: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlaceState {
    /// It may be alive.
    Works,
    /// It waits for a time, as the clause says.
    Parked(String),
    Dead(Death),
}

/// A session that has died.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Death {
    /// The cause as a clause, such as `process 7 is gone`.
    pub why: String,
    /// How many relaunches led to this session.
    pub relaunches: usize,
    /// Whether its id is enough for another one.
    pub can_relaunch: bool,
    /// The parking of its provider, or the spent budget that it would work on.
    pub parking: Option<ProviderParking>,
}

/// A task in progress and the session that has claimed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenPlace {
    pub task: TaskId,
    pub session: SessionId,
    pub lane: Option<LaneName>,
    pub state: PlaceState,
}

/// A ready task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub task: TaskId,
    /// The lane that the task or its role names.
    pub lane: Option<LaneName>,
    pub updated_at: Timestamp,
    /// The parking of the provider that would start.
    pub parking: Option<ProviderParking>,
}

/// The facts of one look at the store.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    pub now: Timestamp,
    pub taken_places: Vec<TakenPlace>,
    /// The ready tasks that a fresh claim would get, in their order.
    pub ready: Vec<Candidate>,
    /// Why none of the other ready tasks can be claimed.
    pub held_back: Option<String>,
    /// What became of the tasks of [`Work::tasks`] that have no place now, such as `submitted by NAME`.
    pub freed: BTreeMap<TaskId, String>,
    /// The submitted tasks whose gates are met.
    pub landable: BTreeSet<TaskId>,
    pub is_landing: bool,
    /// When time alone changes one of these places.
    pub next_change: Option<Timestamp>,
}

#[derive(Debug, Clone)]
pub enum Event {
    Looked(Facts),
    Started {
        task: TaskId,
        session: SessionId,
        lane: Option<LaneName>,
        /// The provider, in parentheses after the lane.
        with: String,
    },
    /// A task did not start; its exit code, and whether the cause may be another one than this task.
    NotStarted {
        task: TaskId,
        why: String,
        exit: u8,
        is_general: bool,
    },
    Relaunched {
        of: SessionId,
        session: SessionId,
        is_resumed: bool,
    },
    NotRelaunched {
        session: SessionId,
        why: String,
    },
    Landed {
        task: TaskId,
        /// `landed` or `proposed`.
        how: String,
    },
    NotLanded {
        task: Option<TaskId>,
        why: String,
    },
    /// A person has pressed Ctrl-C.
    Interrupted,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    Tell(News),
    Start(TaskId),
    Relaunch(SessionId),
    Land,
    /// Wait for a change, at most until this time, and show the line meanwhile.
    Wait {
        until: Option<Timestamp>,
        line: String,
    },
    /// End with this exit code.
    End(u8),
}

string_enum! {
    NewsKind {
        Begun => "begun",
        Started => "started",
        NotStarted => "not_started",
        Freed => "freed",
        Relaunched => "relaunched",
        Left => "left",
        Waits => "waits",
        Landed => "landed",
        NotLanded => "not_landed",
        Stopping => "stopping",
        Ended => "ended",
    }
}

/// One event of the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct News {
    pub kind: NewsKind,
    pub task: Option<TaskId>,
    pub session: Option<SessionId>,
    pub lane: Option<LaneName>,
    pub text: String,
    /// How many of the places are taken.
    pub taken: usize,
    pub places: usize,
}

/// Why nothing more starts, until the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Halt {
    No,
    Asked,
    Failed,
}

#[derive(Debug, Clone)]
pub struct Work {
    plan: Plan,
    has_begun: bool,
    halt: Halt,
    taken_places: Vec<TakenPlace>,
    /// Dead sessions that stay so.
    left: BTreeSet<SessionId>,
    /// The tasks that did not start, as they were seen after that: a changed one is tried again.
    failed: BTreeMap<TaskId, Option<Timestamp>>,
    failures: usize,
    /// The exit code of the first failure.
    exit: u8,
    /// The tasks of the last landing.
    tried: BTreeSet<TaskId>,
    /// The last reason to wait that was told.
    waits: Option<String>,
}

impl Work {
    pub const fn new(plan: Plan) -> Self {
        Self {
            plan,
            has_begun: false,
            halt: Halt::No,
            taken_places: Vec::new(),
            left: BTreeSet::new(),
            failed: BTreeMap::new(),
            failures: 0,
            exit: 0,
            tried: BTreeSet::new(),
            waits: None,
        }
    }

    /// The tasks that had a place at the last look.
    pub fn tasks(&self) -> impl Iterator<Item = &TaskId> {
        self.taken_places.iter().map(|place| &place.task)
    }

    /// Takes an event. A look is answered by one start, relaunch, wait or end, after what is to be told; the caller looks again
    /// after all but the end.
    pub fn take(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::Looked(facts) => self.looked(&facts),
            Event::Started { task, session, lane, with } => {
                self.failures = 0;
                self.failed.remove(&task);
                let place = lane.as_ref().map(|lane| format!(" in lane {lane}")).unwrap_or_default();
                let text = format!("{task} started{place} ({with})");
                self.taken_places.push(TakenPlace {
                    task: task.clone(),
                    session: session.clone(),
                    lane,
                    state: PlaceState::Works,
                });
                let lane = self.taken_places.last().and_then(|place| place.lane.clone());
                vec![Effect::Tell(News { lane, ..self.news(NewsKind::Started, Some(&task), Some(&session), text) })]
            }
            Event::NotStarted { task, why, exit, is_general } => {
                self.failures = if is_general { self.failures + 1 } else { self.failures };
                self.exit = if self.exit == 0 { exit } else { self.exit };
                self.failed.insert(task.clone(), None);
                let text = format!("{task} did not start: {why}");
                let mut told = vec![Effect::Tell(self.news(NewsKind::NotStarted, Some(&task), None, text))];
                if self.failures >= MAX_FAILURES && self.halt == Halt::No {
                    self.halt = Halt::Failed;
                    let text = format!("{MAX_FAILURES} starts in a row have failed; nothing more starts");
                    told.push(Effect::Tell(self.news(NewsKind::Stopping, None, None, text)));
                }
                told
            }
            Event::Relaunched { of, session, is_resumed } => {
                let how = if is_resumed { " with its conversation" } else { "" };
                let place = self.taken_places.iter().find(|place| place.session == of);
                let task = place.map(|place| place.task.clone());
                let (why, number) = match place.map(|place| &place.state) {
                    Some(PlaceState::Dead(death)) => (death.why.clone(), death.relaunches + 1),
                    _ => (String::new(), 1),
                };
                let text = format!("{of} died ({why}), relaunched{how} as {session} ({number} of {MAX_RELAUNCHES})");
                vec![Effect::Tell(self.news(NewsKind::Relaunched, task.as_ref(), Some(&session), text))]
            }
            Event::NotRelaunched { session, why } => {
                self.left.insert(session.clone());
                let task =
                    self.taken_places.iter().find(|place| place.session == session).map(|place| place.task.clone());
                let text = format!("{session} died and is not relaunched: {why}");
                vec![Effect::Tell(self.news(NewsKind::Left, task.as_ref(), Some(&session), text))]
            }
            Event::Landed { task, how } => {
                let text = format!("{task} {how}");
                vec![Effect::Tell(self.news(NewsKind::Landed, Some(&task), None, text))]
            }
            Event::NotLanded { task, why } => {
                let of = task.as_ref().map(|task| format!("{task} ")).unwrap_or_default();
                vec![Effect::Tell(self.news(
                    NewsKind::NotLanded,
                    task.as_ref(),
                    None,
                    format!("{of}did not land: {why}"),
                ))]
            }
            Event::Interrupted => {
                self.halt = Halt::Asked;
                let text = format!("nothing more starts, {} at work; Ctrl-C again leaves", self.agents());
                vec![Effect::Tell(self.news(NewsKind::Stopping, None, None, text))]
            }
        }
    }

    fn looked(&mut self, facts: &Facts) -> Vec<Effect> {
        let before = std::mem::replace(&mut self.taken_places, facts.taken_places.clone());
        self.failed.retain(|task, _| facts.ready.iter().any(|one| one.task == *task));
        self.tried.retain(|task| facts.landable.contains(task));
        let mut told = self.told_freed(before, facts);
        if !self.has_begun {
            self.has_begun = true;
            let (places, ready) =
                (plural::count(self.plan.places, "place"), plural::count(facts.ready.len(), "ready task"));
            let text = format!("{places}, {ready}; Ctrl-C stops starting, agents go on");
            told.insert(0, Effect::Tell(self.news(NewsKind::Begun, None, None, text)));
        }
        for one in &facts.ready {
            if let Some(seen @ None) = self.failed.get_mut(&one.task) {
                *seen = Some(one.updated_at);
            }
        }
        let is_over = self.plan.until.is_some_and(|until| until <= facts.now);
        if self.plan.lands && !is_over && !facts.is_landing && !facts.landable.is_subset(&self.tried) {
            self.tried.clone_from(&facts.landable);
            told.push(Effect::Land);
        }
        let is_landing = facts.is_landing || told.contains(&Effect::Land);
        if is_over && !is_landing {
            let text = format!("the time is over; {} at work", self.agents());
            return self.end(told, text);
        }
        if is_over {
            // A landing at work finishes its step.
            self.halt = Halt::Asked;
        }
        for place in &facts.taken_places {
            let PlaceState::Dead(death) = &place.state else { continue };
            if self.is_left(place) {
                if self.left.insert(place.session.clone()) {
                    let (session, why) = (&place.session, &death.why);
                    let text = format!("{session} died ({why}) and is not relaunched; see fairway status");
                    let task = Some(&place.task);
                    told.push(Effect::Tell(self.news(NewsKind::Left, task, Some(session), text)));
                }
            } else if death.parking.is_none() && self.halt == Halt::No {
                told.push(Effect::Relaunch(place.session.clone()));
                return told;
            }
        }
        let (next, waits) = self.next(facts);
        let has_place = self.taken() < self.plan.places;
        match next {
            Some(task) if has_place && self.halt == Halt::No => told.push(Effect::Start(task)),
            next => self.wait_or_end(&mut told, facts, next, waits, is_landing),
        }
        told
    }

    /// Tells of each place that became free since the last look.
    fn told_freed(&self, before: Vec<TakenPlace>, facts: &Facts) -> Vec<Effect> {
        let gone = before.into_iter().filter(|place| facts.taken_places.iter().all(|now| now.task != place.task));
        let tell = |place: TakenPlace| {
            let how = facts.freed.get(&place.task).map_or("released", String::as_str);
            let text = format!("{} {how}; its place is free", place.task);
            let news = self.news(NewsKind::Freed, Some(&place.task), Some(&place.session), text);
            Effect::Tell(News { lane: place.lane, ..news })
        };
        gone.map(tell).collect()
    }

    /// The next task to start, and the reason why no other one could.
    fn next(&self, facts: &Facts) -> (Option<TaskId>, Option<String>) {
        let has_failed = |one: &&Candidate| match self.failed.get(&one.task) {
            Some(seen) => seen.is_none_or(|seen| seen == one.updated_at),
            None => false,
        };
        let mut waits = None;
        for one in facts.ready.iter().filter(|one| !has_failed(one)) {
            let is_in_lane = |place: &&TakenPlace| one.lane.is_some() && place.lane == one.lane && !self.is_left(place);
            if let Some(parking) = &one.parking {
                waits.get_or_insert_with(|| parking.clause.clone());
            } else if let Some(place) = facts.taken_places.iter().find(is_in_lane) {
                waits.get_or_insert_with(|| format!("{} waits for the lane of {}", one.task, place.task));
            } else {
                return (Some(one.task.clone()), None);
            }
        }
        let dead =
            facts.taken_places.iter().filter(|place| !self.is_left(place)).find_map(|place| match &place.state {
                PlaceState::Dead(death) => death.parking.as_ref().map(|parking| parking.clause.clone()),
                _ => None,
            });
        let parked = || {
            facts.taken_places.iter().find_map(|place| match &place.state {
                PlaceState::Parked(clause) => Some(clause.clone()),
                _ => None,
            })
        };
        (None, waits.or(dead).or_else(|| facts.held_back.clone()).or_else(parked))
    }

    fn wait_or_end(
        &mut self,
        told: &mut Vec<Effect>,
        facts: &Facts,
        next: Option<TaskId>,
        waits: Option<String>,
        is_landing: bool,
    ) {
        let taken = self.taken();
        let is_full = taken >= self.plan.places;
        let parked = facts.taken_places.iter().filter(|place| matches!(place.state, PlaceState::Parked(_))).count();
        let waits = match waits.filter(|_| !is_full || parked > 0) {
            Some(why) if parked > 0 => Some(format!("{why}; {} parked", plural::count(parked, "session"))),
            Some(why) => Some(why),
            None if next.is_none() && !is_full => Some("no task is ready".to_owned()),
            None => None,
        };
        let may_go_on =
            self.halt == Halt::No && !self.plan.is_once && (facts.held_back.is_some() || has_parking(facts));
        if !is_landing && (self.plan.is_once || (taken == 0 && !may_go_on)) {
            let text = match (self.halt, taken) {
                (_, 0) if !self.failed.is_empty() => {
                    format!("{} did not start, and no agent works", plural::count(self.failed.len(), "task"))
                }
                (Halt::No, 0) => "no task is ready and no agent works".to_owned(),
                (_, 0) => "no agent works".to_owned(),
                _ => format!("{} at work", self.agents()),
            };
            let told_now = std::mem::take(told);
            *told = self.end(told_now, text);
            return;
        }
        if self.halt == Halt::No && waits.is_some() && waits != self.waits && !self.plan.is_once {
            let text = waits.clone().unwrap_or_default();
            told.push(Effect::Tell(self.news(NewsKind::Waits, None, None, text)));
        }
        self.waits.clone_from(&waits);
        let parkings = facts.ready.iter().filter_map(|one| one.parking.as_ref());
        let dead = facts.taken_places.iter().filter_map(|place| match &place.state {
            PlaceState::Dead(death) => death.parking.as_ref(),
            _ => None,
        });
        let times = parkings.chain(dead).map(|parking| parking.until);
        let until = times.chain(self.plan.until).chain(facts.next_change).filter(|at| *at > facts.now).min();
        let then = match (self.halt, next, waits) {
            (Halt::No, Some(next), _) => format!("next {next}"),
            (Halt::No, None, Some(why)) => why,
            (Halt::No, None, None) => "no task is ready".to_owned(),
            _ => "nothing more starts".to_owned(),
        };
        let line = format!("work   {taken} of {} places, {then}", self.plan.places);
        told.push(Effect::Wait { until, line });
    }

    fn end(&self, mut told: Vec<Effect>, text: String) -> Vec<Effect> {
        told.push(Effect::Tell(self.news(NewsKind::Ended, None, None, text)));
        told.push(Effect::End(if self.failed.is_empty() { 0 } else { self.exit }));
        told
    }

    /// Whether a dead session is left to a person.
    fn is_left(&self, place: &TakenPlace) -> bool {
        match &place.state {
            PlaceState::Dead(death) => {
                let can_relaunch = death.can_relaunch && death.relaunches < MAX_RELAUNCHES && self.halt == Halt::No;
                !can_relaunch || self.left.contains(&place.session)
            }
            _ => false,
        }
    }

    fn taken(&self) -> usize {
        let sessions: BTreeSet<&SessionId> =
            self.taken_places.iter().filter(|place| !self.is_left(place)).map(|place| &place.session).collect();
        sessions.len()
    }

    fn agents(&self) -> String {
        plural::count(self.taken(), "agent")
    }

    fn news(&self, kind: NewsKind, task: Option<&TaskId>, session: Option<&SessionId>, text: String) -> News {
        let (taken, places) = (self.taken(), self.plan.places);
        News { kind, task: task.cloned(), session: session.cloned(), lane: None, text, taken, places }
    }
}

fn has_parking(facts: &Facts) -> bool {
    facts.ready.iter().any(|one| one.parking.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000);
    const LATER: Timestamp = Timestamp::from_millis(9_000);

    fn work(places: usize) -> Work {
        Work::new(Plan { places, is_once: false, until: None, lands: false })
    }

    fn task(number: u8) -> TaskId {
        TaskId::parse(&format!("T-{number}")).unwrap()
    }

    fn session(number: u8) -> SessionId {
        SessionId::parse(&format!("s-{number}")).unwrap()
    }

    fn place(number: u8, state: PlaceState) -> TakenPlace {
        TakenPlace { task: task(number), session: session(number), lane: LaneName::parse("cart").ok(), state }
    }

    fn dead(number: u8, relaunches: usize) -> TakenPlace {
        let death = Death { why: "exit 137".to_owned(), relaunches, can_relaunch: true, parking: None };
        place(number, PlaceState::Dead(death))
    }

    fn ready(number: u8) -> Candidate {
        Candidate { task: task(number), lane: None, updated_at: NOW, parking: None }
    }

    fn parked(number: u8) -> Candidate {
        let clause = "parked until 17:00 (usage limit of NAME)".to_owned();
        Candidate { parking: Some(ProviderParking { until: LATER, clause }), ..ready(number) }
    }

    fn facts(taken_places: &[TakenPlace], ready: &[Candidate]) -> Facts {
        Facts { now: NOW, taken_places: taken_places.to_vec(), ready: ready.to_vec(), ..Facts::default() }
    }

    /// The texts of the news, and the rest.
    fn split(effects: Vec<Effect>) -> (Vec<String>, Vec<Effect>) {
        let mut texts = Vec::new();
        let is_act = |effect: &Effect| match effect {
            Effect::Tell(news) => {
                texts.push(news.text.clone());
                false
            }
            _ => true,
        };
        let acts = effects.into_iter().filter(is_act).collect();
        (texts, acts)
    }

    fn look(work: &mut Work, taken_places: &[TakenPlace], ready: &[Candidate]) -> (Vec<String>, Vec<Effect>) {
        split(work.take(Event::Looked(facts(taken_places, ready))))
    }

    fn wait(until: Option<Timestamp>, line: &str) -> Vec<Effect> {
        vec![Effect::Wait { until, line: format!("work   {line}") }]
    }

    #[test]
    fn free_place_is_filled_in_the_order_of_ready_and_never_beyond_the_places() {
        let mut work = work(2);
        let (told, acts) = look(&mut work, &[], &[ready(1), ready(2), ready(3)]);
        assert_eq!(told, ["2 places, 3 ready tasks; Ctrl-C stops starting, agents go on"]);
        assert_eq!(acts, [Effect::Start(task(1))]);
        let (with, lane) = ("name".to_owned(), LaneName::parse("t-1").ok());
        let (told, _) = split(work.take(Event::Started { task: task(1), session: session(1), lane, with }));
        assert_eq!(told, ["T-1 started in lane t-1 (name)"]);
        // Another `work` has taken the second place meanwhile.
        let both = [place(1, PlaceState::Works), place(2, PlaceState::Works)];
        assert_eq!(look(&mut work, &both, &[ready(3)]), (vec![], wait(None, "2 of 2 places, next T-3")));
        // A submitted task gives its place back.
        let mut now = facts(&both[1..], &[ready(3)]);
        now.freed.insert(task(1), "submitted by s-1".to_owned());
        let (told, acts) = split(work.take(Event::Looked(now)));
        assert_eq!(
            (told, acts),
            (vec!["T-1 submitted by s-1; its place is free".to_owned()], vec![Effect::Start(task(3))])
        );
        // A session with two tasks has one place.
        let two = [place(1, PlaceState::Works), TakenPlace { task: task(2), ..place(1, PlaceState::Works) }];
        assert_eq!(look(&mut work, &two, &[ready(4)]).1, [Effect::Start(task(4))]);
    }

    #[test]
    fn dead_session_is_relaunched_twice_and_then_left_without_a_place() {
        let mut work = work(1);
        for relaunches in [0, 1] {
            assert_eq!(look(&mut work, &[dead(1, relaunches)], &[ready(2)]).1, [Effect::Relaunch(session(1))]);
        }
        let again = Event::Relaunched { of: session(1), session: session(2), is_resumed: true };
        assert_eq!(
            split(work.take(again)).0,
            ["s-1 died (exit 137), relaunched with its conversation as s-2 (2 of 2)"]
        );
        let (told, acts) = look(&mut work, &[dead(1, 2)], &[ready(2)]);
        assert_eq!(told, ["s-1 died (exit 137) and is not relaunched; see fairway status"]);
        assert_eq!(acts, [Effect::Start(task(2))]);
        // It is told once, and nothing runs.
        let (told, acts) = look(&mut work, &[dead(1, 2)], &[]);
        assert_eq!((told, acts), (vec!["no task is ready and no agent works".to_owned()], vec![Effect::End(0)]));
        // One that cannot be relaunched is left too.
        let failed = Event::NotRelaunched { session: session(3), why: "no lane".to_owned() };
        look(&mut work, &[dead(3, 0)], &[]);
        work.take(failed);
        assert_eq!(look(&mut work, &[dead(3, 0)], &[ready(4)]).1, [Effect::Start(task(4))]);
    }

    #[test]
    fn parked_provider_holds_starts_and_relaunches_until_its_time_and_no_other_provider() {
        let mut work = work(3);
        assert_eq!(look(&mut work, &[], &[parked(1), ready(2)]).1, [Effect::Start(task(2))]);
        let clause = "parked until 17:00 (usage limit of NAME)";
        let waiting = [place(4, PlaceState::Parked(clause.to_owned()))];
        let (told, acts) = look(&mut work, &waiting, &[parked(1)]);
        assert_eq!(told, [format!("{clause}; 1 session parked")]);
        assert_eq!(acts, wait(Some(LATER), &format!("1 of 3 places, {clause}; 1 session parked")));
        // It is told once, and with nothing at work too it goes on at its time.
        let (told, acts) = look(&mut work, &[], &[parked(1)]);
        assert_eq!((told.len(), acts), (2, wait(Some(LATER), &format!("0 of 3 places, {clause}"))));
        let mut one = dead(5, 0);
        if let PlaceState::Dead(death) = &mut one.state {
            death.parking = parked(1).parking;
        }
        assert_eq!(look(&mut work, &[one], &[]).1, wait(Some(LATER), &format!("1 of 3 places, {clause}")));
    }

    #[test]
    fn reason_to_wait_is_told_once_and_review_capacity_keeps_it_waiting() {
        let mut work = work(2);
        let full = || Facts { held_back: Some("2 reviews are open".to_owned()), ..facts(&[], &[]) };
        let (told, acts) = split(work.take(Event::Looked(full())));
        assert_eq!(
            (&told[1..], acts),
            (&["2 reviews are open".to_owned()][..], wait(None, "0 of 2 places, 2 reviews are open"))
        );
        assert_eq!(split(work.take(Event::Looked(full()))).0, Vec::<String>::new());
        // A lane has one agent at a time.
        let at = LaneName::parse("cart").ok();
        let busy = Candidate { lane: at, ..ready(2) };
        let (told, _) = look(&mut work, &[place(1, PlaceState::Works)], &[busy]);
        assert_eq!(told, ["T-2 waits for the lane of T-1"]);
        let (told, _) = look(&mut work, &[place(1, PlaceState::Works)], &[]);
        assert_eq!(told, ["no task is ready"]);
    }

    #[test]
    fn task_that_did_not_start_is_tried_again_when_it_has_changed_and_three_in_a_row_stop() {
        let mut work = work(1);
        let fails = |work: &mut Work, number, is_general| {
            let why = "no program".to_owned();
            split(work.take(Event::NotStarted { task: task(number), why, exit: 7, is_general })).0
        };
        assert_eq!(fails(&mut work, 1, false), ["T-1 did not start: no program"]);
        // The failure itself has changed the task.
        let changed = Candidate { updated_at: LATER, ..ready(1) };
        assert_eq!(look(&mut work, &[], &[changed.clone(), ready(2)]).1, [Effect::Start(task(2))]);
        assert_eq!(look(&mut work, &[], std::slice::from_ref(&changed)).1, [Effect::End(7)]);
        let edited = Candidate { updated_at: Timestamp::from_millis(10_000), ..changed };
        assert_eq!(look(&mut work, &[], &[edited]).1, [Effect::Start(task(1))]);
        let told: Vec<String> = [2, 3, 4].into_iter().flat_map(|number| fails(&mut work, number, true)).collect();
        assert_eq!(told[3], "3 starts in a row have failed; nothing more starts");
        let all = [ready(2), ready(3), ready(4), ready(5)];
        assert!(matches!(&*look(&mut work, &[place(1, PlaceState::Works)], &all).1, [Effect::Wait { .. }]));
        assert_eq!(look(&mut work, &[], &all).1, [Effect::End(7)]);
    }

    #[test]
    fn first_interruption_starts_nothing_more_and_agents_go_on() {
        let mut work = work(2);
        look(&mut work, &[place(1, PlaceState::Works)], &[]);
        assert_eq!(
            split(work.take(Event::Interrupted)).0,
            ["nothing more starts, 1 agent at work; Ctrl-C again leaves"]
        );
        let (_, acts) = look(&mut work, &[place(1, PlaceState::Works)], &[ready(2)]);
        assert_eq!(acts, wait(None, "1 of 2 places, nothing more starts"));
        assert_eq!(look(&mut work, &[dead(1, 0)], &[ready(2)]).1, [Effect::End(0)]);
    }

    #[test]
    fn once_ends_with_full_places_and_until_ends_at_its_time() {
        let plan = Plan { places: 1, is_once: true, until: None, lands: false };
        let mut once = Work::new(plan);
        assert_eq!(look(&mut once, &[], &[ready(1)]).1, [Effect::Start(task(1))]);
        assert_eq!(look(&mut once, &[place(1, PlaceState::Works)], &[ready(2)]).1, [Effect::End(0)]);
        let mut timed = Work::new(Plan { is_once: false, until: Some(LATER), ..plan });
        let works = [place(1, PlaceState::Works)];
        assert_eq!(look(&mut timed, &works, &[]).1, wait(Some(LATER), "1 of 1 places, no task is ready"));
        let over = Facts { now: LATER, ..facts(&works, &[ready(2)]) };
        assert_eq!(split(timed.take(Event::Looked(over))).1, [Effect::End(0)]);
    }

    #[test]
    fn what_the_gates_allow_lands_once_and_again_after_it_came_back() {
        let mut work = Work::new(Plan { places: 1, is_once: false, until: None, lands: true });
        let submitted = |is_landing| Facts { landable: [task(1)].into(), is_landing, ..facts(&[], &[]) };
        let lands = |work: &mut Work, facts| split(work.take(Event::Looked(facts))).1.contains(&Effect::Land);
        assert!(lands(&mut work, submitted(false)));
        assert!(!lands(&mut work, submitted(true)) && !lands(&mut work, submitted(false)));
        // It was sent back, and submitted again.
        assert!(!lands(&mut work, facts(&[place(1, PlaceState::Works)], &[])));
        assert!(lands(&mut work, submitted(false)));
    }
}
