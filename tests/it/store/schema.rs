//! The schema of the jobs' output as one text: a change of it is seen, and comes with a migration once a version is out.

use std::path::Path;

use fairway_core::store::job_output::OutputStore;
use rusqlite::Connection;

use crate::common::scratch;

#[test]
fn output_schema_matches_its_snapshot() {
    let home = scratch::directory("fw");
    let path = home.path().join("runs.db");
    drop(OutputStore::open_for_writing(&path).unwrap());
    insta::assert_snapshot!(schema(&path));
}

fn schema(store: &Path) -> String {
    let conn = Connection::open(store).unwrap();
    let mut statement = conn
        .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'refinery%' ORDER BY name")
        .unwrap();
    let parts: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    parts.join(";\n\n")
}
