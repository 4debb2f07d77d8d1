//! The operations, and the visible state after each.

use proptest::prelude::*;

/// When every sequence begins: 2026-01-01T00:00:00Z.
pub const BEGINNING: i64 = 1_767_225_600_000;

/// The tasks. `c` depends on `a`.
pub const TASKS: [&str; 3] = ["a", "b", "c"];
/// The sessions. `s0` runs for `a`, `s1` is starting for `b`, `s2` runs, `s3` has a process that is there.
pub const SESSIONS: [&str; 4] = ["s0", "s1", "s2", "s3"];
/// The lane of all sessions but the last.
pub const LANE: &str = "l";
pub const IN_LANE: [bool; 4] = [true, true, true, false];
/// Their tasks.
pub const ATTACHED: [Option<usize>; 4] = [Some(0), Some(1), None, None];

/// The actors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    Person,
    Session(usize),
}

/// The verbs of a claimant on a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Release,
    Submit,
    /// With a commit.
    SubmitAt,
    Resume,
    Done,
    Block,
    Unblock,
    Cancel,
    Reopen,
}

/// The commit of `SubmitAt`.
pub const COMMIT: &str = "abcdef0";

/// The records about the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// Evidence of this kind that passed or failed.
    Evidence { kind: &'static str, pass: bool },
    /// A review that approves or asks for changes.
    Review { approves: bool },
    /// An offer to the role of all sessions, or to another one.
    Handoff { theirs: bool },
}

/// The answers to a handoff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    Accept,
    /// With the claim.
    Take,
    Decline,
    Withdraw {
        force: bool,
    },
}

/// One command, or a step of the clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// `claim ID`, with a lease of so many seconds.
    Claim { who: Who, task: usize, lease: Option<u32>, steal: bool },
    /// `claim`
    ClaimNext { who: Who, lease: Option<u32> },
    /// `claim ID --epoch N`, with the epoch of one's own last claim.
    Renew { who: Who, task: usize },
    /// A move; with `token` it passes the epoch of one's own last claim, less that.
    Move { who: Who, verb: Verb, task: usize, token: Option<i64>, force: bool },
    /// `evidence add`, `review record`, `handoff create`; with `token` it passes the epoch of one's own last claim.
    Record { who: Who, task: usize, word: Word, token: Option<i64> },
    /// An answer to the newest handoff, or to one so many before it.
    Answer { who: Who, back: usize, reply: Reply },
    /// `session heartbeat`, by the session itself or by a person.
    Heartbeat { session: usize, own: bool },
    /// `session upsert --status running|stale`
    Report { session: usize, stale: bool },
    /// `session end`
    End { session: usize, own: bool },
    /// `session reconcile`, after so many seconds.
    Reconcile { dry_run: bool, after: i64 },
    /// The clock goes on, or back.
    Clock(i64),
}

impl Op {
    /// By how much the clock steps.
    pub const fn seconds(&self) -> i64 {
        match self {
            Self::Clock(seconds) | Self::Reconcile { after: seconds, .. } => *seconds,
            _ => 0,
        }
    }
}

/// A task from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskSeen {
    pub status: String,
    pub claimant: Option<String>,
    pub lane: Option<String>,
    pub epoch: i64,
    pub lease_until: Option<i64>,
    /// Claimant and epoch of its live claims.
    pub claims: Vec<(String, i64)>,
    pub checkpoints: i64,
    pub commit: Option<String>,
    pub evidence: i64,
    pub reviews: i64,
}

/// A session from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSeen {
    pub status: String,
    pub heartbeat: i64,
}

/// Everything from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub tasks: Vec<TaskSeen>,
    pub sessions: Vec<SessionSeen>,
    /// State of each handoff, and who answered it, oldest first.
    pub handoffs: Vec<(String, Option<String>)>,
}

/// A command, when and with which token it was given, what came of it and what could be seen then.
#[derive(Debug, Clone)]
pub struct Step {
    pub op: Op,
    pub clock: i64,
    pub epoch: Option<i64>,
    pub outcome: String,
    pub seen: Seen,
}

fn who() -> impl Strategy<Value = Who> {
    prop_oneof![1 => Just(Who::Person), 3 => (0_usize..2).prop_map(Who::Session), 1 => (2_usize..4).prop_map(Who::Session)]
}

fn task() -> impl Strategy<Value = usize> {
    prop_oneof![8 => Just(0_usize), 3 => Just(1), 2 => Just(2)]
}

fn session() -> impl Strategy<Value = usize> {
    0..SESSIONS.len()
}

fn lease() -> impl Strategy<Value = Option<u32>> {
    prop_oneof![1 => Just(None), 2 => Just(Some(30)), 1 => Just(Some(3_000))]
}

fn verb() -> impl Strategy<Value = Verb> {
    prop_oneof![
        3 => Just(Verb::Release),
        1 => Just(Verb::Submit),
        1 => Just(Verb::SubmitAt),
        1 => Just(Verb::Resume),
        4 => Just(Verb::Done),
        2 => Just(Verb::Block),
        2 => Just(Verb::Unblock),
        1 => Just(Verb::Cancel),
        1 => Just(Verb::Reopen),
    ]
}

fn evidence() -> impl Strategy<Value = Word> {
    let kind = prop_oneof![4 => Just("test"), 2 => Just("lint"), 1 => Just("provider")];
    let pass = prop_oneof![2 => Just(true), 1 => Just(false)];
    (kind, pass).prop_map(|(kind, pass)| Word::Evidence { kind, pass })
}

fn offer() -> impl Strategy<Value = Word> {
    prop_oneof![4 => Just(true), 1 => Just(false)].prop_map(|theirs| Word::Handoff { theirs })
}

fn word() -> impl Strategy<Value = Word> {
    prop_oneof![
        4 => evidence(),
        1 => any::<bool>().prop_map(|approves| Word::Review { approves }),
        2 => offer(),
    ]
}

fn reply() -> impl Strategy<Value = Reply> {
    prop_oneof![
        1 => Just(Reply::Accept),
        4 => Just(Reply::Take),
        1 => Just(Reply::Decline),
        2 => prop_oneof![4 => Just(false), 1 => Just(true)].prop_map(|force| Reply::Withdraw { force }),
    ]
}

/// A sequence: commands as they come, and among them a few that belong together, without which chance would seldom finish
/// or hand over anything.
pub fn sequence() -> impl Strategy<Value = Vec<Op>> {
    let claim = |who, task| Op::Claim { who, task, lease: None, steal: false };
    let acts = |who, verb, task| Op::Move { who, verb, task, token: None, force: false };
    let says = |who, task, word| Op::Record { who, task, word, token: None };
    let phrase = prop_oneof![
        24 => one().prop_map(|op| vec![op]),
        2 => (who(), task(), proptest::collection::vec(evidence(), 1..=3)).prop_map(move |(who, task, words)| {
            let words = words.into_iter().map(|word| says(who, task, word));
            std::iter::once(claim(who, task)).chain(words).chain([acts(who, Verb::Done, task)]).collect()
        }),
        // A session ends with a task in its hands, and another one goes on.
        3 => (session(), who(), task(), evidence(), verb(), any::<bool>(), offer())
            .prop_map(move |(first, next, task, word, verb, any, offer)| {
                let who = Who::Session(first);
                let again = if any { Op::ClaimNext { who: next, lease: None } } else { claim(next, task) };
                vec![
                    claim(who, task),
                    says(who, task, word),
                    says(who, task, offer),
                    acts(who, verb, task),
                    Op::Clock(30),
                    Op::End { session: first, own: true },
                    again,
                    Op::Answer { who: Who::Session(3), back: 0, reply: Reply::Take },
                    acts(next, Verb::Done, task),
                ]
            }),
        1 => (who(), who(), who(), task(), any::<bool>()).prop_map(move |(who, asks, goes_on, task, again)| {
            let asked = says(asks, task, Word::Review { approves: false });
            let mut ops = vec![claim(who, task), acts(who, Verb::SubmitAt, task), asked];
            if again {
                ops.push(acts(who, Verb::SubmitAt, task));
            }
            ops.push(acts(goes_on, Verb::Resume, task));
            ops
        }),
        // A refusal, another's approval, and perhaps the refuser's own.
        1 => (who(), who(), who(), task()).prop_map(move |(who, asks, approves, task)| {
            let passed = says(who, task, Word::Evidence { kind: "test", pass: true });
            let asked = says(asks, task, Word::Review { approves: false });
            let approved = says(approves, task, Word::Review { approves: true });
            vec![claim(who, task), passed, asked, approved, acts(who, Verb::Done, task)]
        }),
        2 => (who(), who(), task(), offer(), reply())
            .prop_map(move |(who, other, task, offer, reply)| {
                vec![says(who, task, offer), Op::Answer { who: other, back: 0, reply }]
            }),
        // An operation that is older than the claim.
        1 => (who(), who(), task(), any::<bool>()).prop_map(move |(who, other, task, offers)| {
            if offers {
                let take = Op::Answer { who, back: 0, reply: Reply::Take };
                vec![says(other, task, Word::Handoff { theirs: true }), claim(who, task), take]
            } else {
                let passed = says(other, task, Word::Evidence { kind: "test", pass: true });
                vec![passed, Op::Clock(30), claim(who, task), acts(who, Verb::Done, task)]
            }
        }),
    ];
    proptest::collection::vec(phrase, 3..=9).prop_map(|phrases| phrases.concat())
}

/// Commands as they come.
fn one() -> impl Strategy<Value = Op> {
    let steal = prop_oneof![2 => Just(false), 1 => Just(true)];
    let token = prop_oneof![4 => Just(None), 4 => Just(Some(0)), 1 => Just(Some(1))];
    let rarely = prop_oneof![7 => Just(false), 1 => Just(true)];
    let rarely_dry = prop_oneof![5 => Just(false), 1 => Just(true)];
    let clock =
        prop_oneof![5 => Just(30), 2 => Just(61), 1 => Just(600), 3 => Just(1_801), 1 => Just(-60), 1 => Just(-7_200)];
    prop_oneof![
        8 => (who(), task(), lease(), steal).prop_map(|(who, task, lease, steal)| Op::Claim { who, task, lease, steal }),
        1 => (who(), lease()).prop_map(|(who, lease)| Op::ClaimNext { who, lease }),
        2 => (who(), task()).prop_map(|(who, task)| Op::Renew { who, task }),
        12 => (who(), verb(), task(), token, rarely)
            .prop_map(|(who, verb, task, token, force)| Op::Move { who, verb, task, token, force }),
        4 => (who(), task(), word(), prop_oneof![4 => Just(None), 1 => Just(Some(0))])
            .prop_map(|(who, task, word, token)| Op::Record { who, task, word, token }),
        1 => (who(), prop_oneof![2 => Just(0_usize), 1 => Just(1)], reply())
            .prop_map(|(who, back, reply)| Op::Answer { who, back, reply }),
        3 => (session(), any::<bool>()).prop_map(|(session, own)| Op::Heartbeat { session, own }),
        2 => (session(), any::<bool>()).prop_map(|(session, stale)| Op::Report { session, stale }),
        1 => (session(), any::<bool>()).prop_map(|(session, own)| Op::End { session, own }),
        5 => (rarely_dry, prop_oneof![2 => Just(0_i64), 3 => Just(1_801)])
            .prop_map(|(dry_run, after)| Op::Reconcile { dry_run, after }),
        6 => clock.prop_map(Op::Clock),
    ]
}
