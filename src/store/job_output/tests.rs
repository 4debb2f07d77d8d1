use super::OutputStore;
use crate::{
    domain::{
        id::Label,
        job::{ItemType, JobId},
        job_output::{Batch, Content, Gap, NewItem, Totals, WatcherHit},
        watcher::{WatchScope, Watcher},
    },
    env::Timestamp,
    store::StoreError,
};

const NOW: Timestamp = Timestamp::from_millis(7);

fn store() -> (tempfile::TempDir, OutputStore) {
    let home = tempfile::tempdir().unwrap();
    let store = OutputStore::open_for_writing(&home.path().join("runs.db")).unwrap();
    (home, store)
}

fn run(last: u8) -> JobId {
    JobId::parse(&format!("0193b0c0-7e6a-7a5b-8c3d-aabbccddee{last:02x}")).unwrap()
}

fn printed(seq: i64, segment: i64) -> NewItem {
    NewItem::Output { seq, stream: ItemType::Stdout, segment, start: 0, length: 10, origin: seq * 10 }
}

fn noticed(seq: i64, key: Option<&str>) -> NewItem {
    NewItem::Event {
        seq,
        payload: "p".into(),
        meta: "{\"event\":\"e\"}".into(),
        notification_key: key.map(str::to_owned),
    }
}

fn batch(items: Vec<NewItem>, next_seq: i64) -> Batch {
    Batch { items, next_seq, stdout_bytes: next_seq * 10, ..Batch::default() }
}

fn seqs(store: &OutputStore, run: &JobId) -> Vec<(i64, ItemType)> {
    store.items(run, 0, 100, None).unwrap().0.iter().map(|item| (item.seq, item.kind)).collect()
}

#[test]
fn file_that_is_not_there_is_not_made_by_reading() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("runs.db");
    assert!(OutputStore::open_for_reading(&path).unwrap().is_none());
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
    // The state's own file is not taken for it, nor the other way round.
    drop(crate::store::Store::open_for_writing(&path, home.path(), None).unwrap());
    assert!(matches!(OutputStore::open_for_reading(&path), Err(StoreError::Foreign { .. })));
    let other = home.path().join("other.db");
    drop(OutputStore::open_for_writing(&other).unwrap());
    assert!(matches!(
        crate::store::Store::open_for_reading(&other, home.path(), None),
        Err(StoreError::Foreign { .. })
    ));
}

#[test]
fn batch_that_comes_again_is_written_once() {
    let (_home, store) = store();
    let batch = batch(vec![printed(1, 0), noticed(2, Some("k"))], 3);
    store.apply(&run(1), &batch, NOW).unwrap();
    store.acknowledge_notification(&run(1), 2).unwrap();
    store.apply(&run(1), &batch, NOW).unwrap();
    assert_eq!(seqs(&store, &run(1)), [(1, ItemType::Stdout), (2, ItemType::Event)]);
    assert_eq!(store.pending_notifications(9).unwrap(), []);
    assert_eq!(store.totals(&run(1)).unwrap(), Totals { next_seq: 3, stdout_bytes: 30, ..Totals::default() });
    assert_eq!(store.append_event(&run(1), "x", "{}", Some("k2"), NOW).unwrap(), 3);
    assert_eq!(store.append_event(&run(2), "x", "{}", None, NOW).unwrap(), 1);
    assert_eq!(store.pending_notifications_of(&run(1)).unwrap()[0].key, "k2");
}

#[test]
fn items_are_filtered_before_they_are_limited_and_since_is_exclusive() {
    let (_home, store) = store();
    store.apply(&run(1), &batch((1..=9).map(|seq| printed(seq, 0)).collect(), 10), NOW).unwrap();
    store.apply(&run(1), &batch(vec![noticed(10, None), printed(11, 0)], 12), NOW).unwrap();
    store.apply(&run(2), &batch(vec![noticed(1, None)], 2), NOW).unwrap();
    let ask = |since, limit, stream| {
        let (items, more) = store.items(&run(1), since, limit, stream).unwrap();
        (items.iter().map(|item| item.seq).collect::<Vec<_>>(), more)
    };
    assert_eq!(ask(0, 2, None), (vec![1, 2], true));
    assert_eq!(ask(9, 2, None), (vec![10, 11], false));
    assert_eq!(ask(11, 2, None), (vec![], false));
    assert_eq!(ask(0, 1, Some(ItemType::Event)), (vec![10], false));
    assert_eq!(ask(8, 1, Some(ItemType::Stdout)), (vec![9], true));
    assert_eq!(store.newest_after(&run(1), 3, true).unwrap(), Some(10));
    assert_eq!(store.newest_after(&run(1), 10, true).unwrap(), None);
    assert_eq!(store.newest_after(&run(1), 10, false).unwrap(), Some(11));
}

#[test]
fn gap_grows_in_one_place_and_spares_head_and_events() {
    let (_home, store) = store();
    let items = vec![printed(1, 0), printed(2, 1), noticed(3, None), printed(4, 1), printed(5, 2), printed(6, 3)];
    store.apply(&run(1), &batch(items, 7), NOW).unwrap();
    let gap = |first_seq, through_seq, dropped_bytes| Batch {
        gap: Some(Gap { first_seq, through_seq, dropped_bytes }),
        ..batch(Vec::new(), 7)
    };
    store.apply(&run(1), &gap(2, 4, 20), NOW).unwrap();
    let of = |seqs: &[(i64, ItemType)]| seqs.iter().map(|(seq, _)| *seq).collect::<Vec<_>>();
    assert_eq!(of(&seqs(&store, &run(1))), [1, 3, 4, 5, 6]);
    // From the very first, as after another beginning: the head stays all the same.
    store.apply(&run(1), &gap(1, 5, 30), NOW).unwrap();
    store.apply(&run(1), &gap(1, 5, 30), NOW).unwrap();
    assert_eq!(of(&seqs(&store, &run(1))), [1, 3, 5, 6]);
    let (items, _) = store.items(&run(1), 3, 1, None).unwrap();
    assert_eq!(
        items[0].content,
        Content::Event { payload: "30 bytes left out".into(), meta: "{\"event\":\"gap\",\"bytes\":30}".into() }
    );
    assert_eq!(store.totals(&run(1)).unwrap().dropped_bytes, 30);
    store.delete_job(&run(1)).unwrap();
    assert_eq!((seqs(&store, &run(1)), store.totals(&run(1)).unwrap()), (vec![], Totals::default()));
}

#[test]
fn watchers_keep_their_order_and_their_hits() {
    let (_home, store) = store();
    let watcher = |regex: &str| Watcher {
        regex: regex.into(),
        event: Label::parse("found").unwrap(),
        once: true,
        scope: WatchScope::Both,
    };
    let all: Vec<Watcher> = (0..16).map(|number| watcher(&number.to_string())).collect();
    store.add_watchers(&run(1), &all).unwrap();
    let hits = vec![WatcherHit { watcher: 11, count: 3 }];
    store.apply(&run(1), &Batch { hits, ..batch(vec![noticed(1, None)], 2) }, NOW).unwrap();
    let found = store.watchers(&run(1)).unwrap();
    assert_eq!(found.iter().map(|standing| standing.watcher.clone()).collect::<Vec<_>>(), all);
    assert_eq!(found.iter().map(|standing| standing.match_count).sum::<i64>(), found[11].match_count);
    assert_eq!(found[11].match_count, 3);
}
