//! The store of the model on a server: looked at from outside, on a connection of its own, and put back to its beginning.

use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use super::driver::{InProcess, TABLES};
use super::operation::{Seen, SessionSeen, TaskSeen};
use crate::common::postgres_server::PostgresServer;

/// How many sequences are run on a server: each step is a dozen exchanges with it.
const SEQUENCES: usize = 60;

/// A connection from outside.
pub struct ServerStore {
    runtime: Runtime,
    client: Client,
    server: PostgresServer,
    schema: String,
}

/// A row of a simple query.
type Row = Vec<Option<String>>;

fn number(value: Option<&String>) -> Option<i64> {
    value.map(|value| value.parse().unwrap())
}

impl ServerStore {
    /// Keeps the beginning of a store.
    pub fn keep(server: &PostgresServer, schema: &str) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let address = server.address(schema);
        let (base, _) = address.split_once("&schema=").unwrap();
        let client = runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(base, NoTls).await.unwrap();
            tokio::spawn(connection);
            client
        });
        let this = Self { runtime, client, server: server.clone(), schema: schema.to_owned() };
        this.rows(&format!("CREATE SCHEMA {schema}_kept; SET search_path TO {schema}"));
        for table in TABLES.iter().chain(&["project"]) {
            this.rows(&format!("CREATE TABLE {schema}_kept.{table} AS TABLE {table}"));
        }
        this
    }

    fn rows(&self, statements: &str) -> Vec<Row> {
        let messages = self.runtime.block_on(self.client.simple_query(statements)).unwrap();
        let rows = messages.into_iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|column| row.get(column).map(str::to_owned)).collect())
            }
            _ => None,
        });
        rows.collect()
    }

    pub fn restore(&self) {
        let schema = &self.schema;
        // Without triggers, and in any order.
        let mut back = "BEGIN; SET LOCAL session_replication_role = replica;".to_owned();
        for table in TABLES.iter().chain(&["project"]) {
            back += &format!("DELETE FROM {table}; INSERT INTO {table} SELECT * FROM {schema}_kept.{table};");
        }
        self.rows(&(back + "COMMIT"));
    }

    pub fn seen(&self) -> Seen {
        let claims = self.rows("SELECT task_id, claimant, epoch FROM claims WHERE ended_at IS NULL");
        let claims_of = |task: &Option<String>| {
            let own = claims.iter().filter(|claim| claim[0] == *task);
            own.map(|claim| (claim[1].clone().unwrap(), number(claim[2].as_ref()).unwrap())).collect()
        };
        let tasks = self.rows(
            "SELECT id, status, claimant, epoch, lease_until, (SELECT count(*) FROM checkpoints c WHERE c.task_id = t.id), \
             commit_id, (SELECT count(*) FROM evidence r WHERE r.task_id = t.id), \
             (SELECT count(*) FROM reviews r WHERE r.task_id = t.id), lane FROM tasks t ORDER BY id",
        );
        let tasks = tasks.iter().map(|row| TaskSeen {
            status: row[1].clone().unwrap(),
            claimant: row[2].clone(),
            epoch: number(row[3].as_ref()).unwrap(),
            lease_until: number(row[4].as_ref()),
            claims: claims_of(&row[0]),
            checkpoints: number(row[5].as_ref()).unwrap(),
            commit: row[6].clone(),
            evidence: number(row[7].as_ref()).unwrap(),
            reviews: number(row[8].as_ref()).unwrap(),
            lane: row[9].clone(),
        });
        let sessions = self.rows("SELECT status, last_heartbeat_at FROM agent_sessions ORDER BY id");
        let sessions = sessions
            .iter()
            .map(|row| SessionSeen { status: row[0].clone().unwrap(), heartbeat: number(row[1].as_ref()).unwrap() });
        let handoffs = self.rows("SELECT status, answered_by FROM handoffs ORDER BY id");
        let handoffs = handoffs.into_iter().map(|row| (row[0].clone().unwrap(), row[1].clone()));
        Seen { tasks: tasks.collect(), sessions: sessions.collect(), handoffs: handoffs.collect() }
    }

    /// The epoch of the last claim of a task by this name, or of one so many before it.
    pub fn latest_epoch(&self, task: &str, name: &str, older: i64) -> Option<i64> {
        let query = format!("SELECT max(epoch) - {older} FROM claims WHERE task_id = '{task}' AND claimant = '{name}'");
        number(self.rows(&query)[0][0].as_ref())
    }

    pub fn handoff(&self, back: usize) -> Option<i64> {
        let newest = self.rows(&format!("SELECT id FROM handoffs ORDER BY id DESC LIMIT 1 OFFSET {back}"));
        newest.first().and_then(|row| number(row[0].as_ref()))
    }

    pub fn violations(&self) -> Option<String> {
        self.server.violations(&self.schema)
    }
}

/// The same sequences on the other engine, with the same expectations.
#[test]
fn random_operations_on_a_server_match_the_reference_model() {
    let Some(mut driver) = InProcess::on_server() else { return };
    let cases = super::number("FAIRWAY_MODEL_SEQUENCES").map_or(SEQUENCES, |cases| usize::try_from(cases).unwrap());
    let (ran, outcomes) = super::run(&mut driver, cases, super::seed());
    println!("{ran} sequences, {outcomes:?}");
    assert_eq!(ran, cases);
    assert!(outcomes.contains_key("ok") && outcomes.len() > 5, "{outcomes:?}");
}
