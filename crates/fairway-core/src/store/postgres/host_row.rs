//! The row of the host that writes. Each write reads it under the lock that it takes anyway, and updates it when it differs or
//! is old.

use std::time::Duration;

use tokio_postgres::SimpleQueryRow;

use crate::env::Timestamp;
use crate::os::host;
use crate::store::StoreError;
use crate::store::sql::{self, PostgresConnection};

/// The age from which a row is written again, by a write or a read.
const SEEN_INTERVAL: Duration = Duration::from_secs(60);
/// The number of earlier boots that a row keeps.
const KEPT_BOOTS: usize = 16;

/// The columns of a host's row, in the order in which [`HostRow::read`] expects them.
const COLUMNS: &str = "h.name, h.root, h.version, h.boot_id, h.earlier_boots, h.last_seen";
const RECORD: &str = "INSERT INTO hosts (id, name, root, version, boot_id, earlier_boots, first_seen, last_seen) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $7) ON CONFLICT (id) DO UPDATE SET name = excluded.name, root = excluded.root, \
     version = excluded.version, boot_id = excluded.boot_id, earlier_boots = excluded.earlier_boots, \
     last_seen = excluded.last_seen";
// A copy that got an id of its own leaves the old one to the machine that had it before: the boot of that may write again. The
// second half of an id is the pid namespace, which tells two containers of one boot apart. Two users of one machine may have two
// ids, so the boot that wrote last stays.
const GIVE_BACK: &str = "UPDATE hosts SET earlier_boots = (earlier_boots::jsonb - -1)::text \
     WHERE boot_id = $2 AND id <> $1 AND split_part(id, '/', 2) = split_part($1, '/', 2) AND earlier_boots <> '[]'";

/// A read of the store by a host, which shows that the host works. To record it, a read takes no lock of the project and waits
/// for none: of two reads at once it is enough to record one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Look {
    /// An SQL expression for whether the row is old and can be written.
    pub is_due: String,
    /// The statement that updates the row. It updates no row of another boot: that would hide a clone.
    pub record: String,
}

impl Look {
    /// The statements that record a read by this host at the present time; `None` for a host without an id. `clock` is an SQL
    /// expression for the time in milliseconds.
    pub fn now(schema: &str, clock: &str) -> Option<Self> {
        let quoted = |text: &str| text.replace('\'', "''");
        let id = quoted(&host::identity().id?);
        let old = format!(
            "id = '{id}' AND boot_id = '{}' AND last_seen <= {clock} - {}",
            quoted(&host::boot_id()),
            SEEN_INTERVAL.as_millis()
        );
        let hosts = format!("\"{schema}\".hosts");
        let is_due = format!(
            "EXISTS (SELECT 1 FROM hosts WHERE {old}) AND NOT pg_is_in_recovery() \
             AND NOT current_setting('default_transaction_read_only')::boolean \
             AND has_table_privilege('{}', 'UPDATE')",
            quoted(&hosts)
        );
        let record = format!(
            "UPDATE {hosts} SET last_seen = {clock} WHERE id IN (SELECT id FROM {hosts} WHERE {old} FOR UPDATE SKIP LOCKED)"
        );
        Some(Self { is_due, record })
    }
}

/// The host of this process, as its row names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Writer {
    pub id: String,
    pub name: String,
    pub root: String,
    pub version: &'static str,
    pub boot_id: String,
}

impl Writer {
    /// Describes this host, with the root of the checkout that writes; `None` for a host without an id.
    pub fn now(root: &str) -> Option<Self> {
        let own = host::identity_to_record();
        Some(Self {
            id: own.id?,
            name: own.name,
            root: root.to_owned(),
            version: env!("CARGO_PKG_VERSION"),
            boot_id: host::boot_id(),
        })
    }

    /// A query for the columns of `list` and those of the host's row, which are NULL when the host has no row.
    pub fn join(of: Option<&Self>, list: &str) -> String {
        let id = of.map(|own| own.id.replace('\'', "''")).unwrap_or_default();
        format!("SELECT {list}, {COLUMNS} FROM (VALUES (1)) AS one LEFT JOIN hosts h ON h.id = '{id}'")
    }

    /// The row as this write leaves it; `None` when it stays as it is.
    /// Fails with [`StoreError::HostCloned`] when another machine has written with the id since this boot did.
    fn row_after(&self, found: Option<&HostRow>, now: Timestamp) -> Result<Option<HostRow>, StoreError> {
        let new = HostRow {
            name: self.name.clone(),
            root: self.root.clone(),
            version: self.version.to_owned(),
            boot_id: self.boot_id.clone(),
            earlier_boots: Vec::new(),
            last_seen: now,
        };
        let Some(found) = found else { return Ok(Some(new)) };
        let mut boots = found.earlier_boots.clone();
        // A boot that is not known tells nothing.
        let is_known = !self.boot_id.is_empty();
        if is_known && found.boot_id != self.boot_id {
            if boots.contains(&self.boot_id) {
                let (name, root) = (found.name.clone(), found.root.clone());
                return Err(StoreError::HostCloned { name, root });
            }
            if !found.boot_id.is_empty() {
                boots.push(found.boot_id.clone());
            }
            let surplus = boots.len().saturating_sub(KEPT_BOOTS);
            boots.drain(..surplus);
        }
        let boot_id = if is_known { self.boot_id.clone() } else { found.boot_id.clone() };
        let new = HostRow { boot_id, earlier_boots: boots, ..new };
        let is_old = now.since(found.last_seen) >= SEEN_INTERVAL;
        // Two checkouts that write in turns do not take the root from each other at every write.
        let is_same = *found == HostRow { last_seen: found.last_seen, root: found.root.clone(), ..new.clone() };
        Ok((is_old || !is_same).then_some(new))
    }

    /// Writes the host's row if the one in `answer` differs or is old. `column` is the index of the row's first column in
    /// `answer`.
    pub fn record(
        &self,
        connection: &PostgresConnection,
        answer: Option<&SimpleQueryRow>,
        column: usize,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let found = answer.and_then(|answer| HostRow::read(answer, column));
        let Some(row) = self.row_after(found.as_ref(), now)? else { return Ok(()) };
        let boots = serde_json::json!(row.earlier_boots).to_string();
        sql::execute(
            connection,
            RECORD,
            &[&self.id, &row.name, &row.root, &row.version, &row.boot_id, &boots, &row.last_seen],
        )?;
        if found.is_none() && !self.boot_id.is_empty() {
            sql::execute(connection, GIVE_BACK, &[&self.id, &self.boot_id])?;
        }
        Ok(())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct HostRow {
    name: String,
    root: String,
    version: String,
    boot_id: String,
    earlier_boots: Vec<String>,
    last_seen: Timestamp,
}

impl HostRow {
    fn read(answer: &SimpleQueryRow, column: usize) -> Option<Self> {
        let text = |offset: usize| answer.get(column + offset).map(str::to_owned);
        Some(Self {
            name: text(0)?,
            root: text(1)?,
            version: text(2)?,
            boot_id: text(3)?,
            // A text that cannot be read names no boot, and no clone.
            earlier_boots: serde_json::from_str(&text(4)?).unwrap_or_default(),
            last_seen: Timestamp::from_millis(text(5)?.parse().ok()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_millis(1_000_000);

    fn writer(boot: &str) -> Writer {
        Writer { id: "a/1".into(), name: "host/1".into(), root: "/src".into(), version: "1.0.0", boot_id: boot.into() }
    }

    /// The row after writes by these boots, one after the other; the number of the write that was refused, otherwise.
    fn after(boots: &[String]) -> Result<HostRow, usize> {
        let mut row = None;
        for (number, boot) in boots.iter().enumerate() {
            match writer(boot).row_after(row.as_ref(), START) {
                Ok(new) => row = new.or(row),
                Err(_) => return Err(number),
            }
        }
        Ok(row.unwrap())
    }

    fn names(boots: &[&str]) -> Vec<String> {
        boots.iter().map(|boot| (*boot).to_owned()).collect()
    }

    #[test]
    fn host_that_is_booted_again_stays_itself_and_an_earlier_boot_that_writes_is_a_clone() {
        for (boots, refused) in [
            (&["a"][..], None),
            (&["a", "a", "a"], None),
            (&["a", "b", "c", "c"], None),
            (&["a", "b", "a"], Some(2)),
            (&["a", "b", "c", "a"], Some(3)),
            (&["a", "b", "c", "b"], Some(3)),
            // A boot that is not known.
            (&["a", "", "a"], None),
            (&["", "a", ""], None),
        ] {
            assert_eq!(after(&names(boots)).err(), refused, "{boots:?}");
        }
        // The boot before was taken from the list: the copy has another id.
        let given_back = HostRow { earlier_boots: names(&[]), ..after(&names(&["a", "b"])).unwrap() };
        let original = writer("a").row_after(Some(&given_back), START).unwrap().unwrap();
        assert!(writer("b").row_after(Some(&original), START).is_err());
        let row = after(&names(&["a", "b", "", "c"])).unwrap();
        assert_eq!((row.boot_id.as_str(), row.earlier_boots), ("c", names(&["a", "b"])));
        assert_eq!(after(&names(&["", "a"])).unwrap().earlier_boots, names(&[]));
    }

    #[test]
    fn the_last_sixteen_boots_are_kept() {
        let boots: Vec<String> = (0..40).map(|number| format!("boot-{number}")).collect();
        let row = after(&boots).unwrap();
        assert_eq!(row.earlier_boots, boots[23..39]);
        for (again, refused) in [(22, false), (23, true), (38, true), (39, false)] {
            let done = writer(&boots[again]).row_after(Some(&row), START);
            assert_eq!(done.is_err(), refused, "{again}");
        }
    }

    #[test]
    fn row_is_written_when_it_says_something_else_or_is_old() {
        let row = writer("a").row_after(None, START).unwrap().unwrap();
        let at = |seconds: u64| START.plus(Duration::from_secs(seconds));
        let after = |writer: &Writer, seconds| writer.row_after(Some(&row), at(seconds)).unwrap();
        assert_eq!(after(&writer("a"), 59), None);
        assert_eq!(after(&writer("a"), 60).unwrap(), HostRow { last_seen: at(60), ..row.clone() });
        let other_root = Writer { root: "/other".into(), ..writer("a") };
        assert_eq!(after(&other_root, 59), None);
        assert_eq!(after(&other_root, 60).unwrap().root, "/other");
        for other in [Writer { name: "renamed/1".into(), ..writer("a") }, Writer { version: "1.0.1", ..writer("a") }] {
            let new = after(&other, 1).unwrap();
            assert_eq!((new.name, new.root, new.version.as_str()), (other.name, other.root, other.version));
        }
        // A clock that was set back writes nothing.
        assert_eq!(writer("a").row_after(Some(&row), Timestamp::from_millis(0)).unwrap(), None);
    }

    #[test]
    fn refusal_names_the_other_holder_of_the_id() {
        let row = HostRow { name: "other/1".into(), root: "/their".into(), ..after(&names(&["a", "b"])).unwrap() };
        let error = writer("a").row_after(Some(&row), START).unwrap_err().to_string();
        assert!(error.contains("other/1") && error.contains("/their"), "{error}");
    }
}
