//! The schema of both engines.

use std::collections::BTreeMap;

use rusqlite::Connection;

use crate::common::TestProject;

/// Every column by table and name: its type as SQLite calls it, and whether it may be NULL.
type Columns = BTreeMap<(String, String), (String, bool)>;

fn of_sqlite(world: &TestProject) -> Columns {
    let conn = Connection::open(world.store()).unwrap();
    let query = "SELECT m.name, c.name, c.type, c.\"notnull\" OR c.pk > 0 FROM sqlite_schema m \
                 JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' \
                 AND m.name <> 'refinery_schema_history'";
    let mut statement = conn.prepare(query).unwrap();
    let rows = statement.query_map([], |row| Ok(((row.get(0)?, row.get(1)?), (row.get(2)?, !row.get::<_, bool>(3)?))));
    rows.unwrap().map(Result::unwrap).collect()
}

/// A migration of SQLite without its counterpart would be found by the first user of a server.
#[test]
fn both_engines_have_the_same_tables_and_columns() {
    let Some(world) = TestProject::on_postgres() else { return };
    let (server, schema) = world.on_server.as_ref().unwrap();
    let query = format!(
        "SELECT c.table_name, column_name, CASE data_type WHEN 'bigint' THEN 'INTEGER' WHEN 'text' THEN 'TEXT' \
         WHEN 'double precision' THEN 'REAL' ELSE data_type END, is_nullable, coalesce(collation_name, '-') \
         FROM information_schema.columns c WHERE c.table_schema = '{schema}' \
         AND c.table_name NOT IN ('project', 'hosts', 'refinery_schema_history')"
    );
    let mut found = Columns::new();
    for line in server.query(schema, &query) {
        let cells: Vec<&str> = line.split('|').collect();
        assert_eq!(cells[4] == "C", cells[2] == "TEXT", "{line}");
        found.insert((cells[0].into(), cells[1].into()), (cells[2].into(), cells[3] == "YES"));
    }
    let file = TestProject::new();
    assert_eq!(found, of_sqlite(&file));
}

/// A store that is made by several at once is whole, and made once.
#[test]
fn a_store_that_many_make_at_once_is_made_once() {
    let Some(world) = TestProject::on_postgres() else { return };
    let (server, schema) = world.on_server.as_ref().unwrap();
    server.query("public", &format!("DROP SCHEMA {schema} CASCADE"));
    world.run(["ready", "--json"]).refuses(3, "store_missing");
    let children: Vec<_> = (0..8).map(|_| world.fairway(["init", "--quiet"]).spawn().unwrap()).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    world.run(["task", "add", "first"]).exits(0);
    assert_eq!(server.query(schema, "SELECT count(*), max(schema_version) FROM project"), ["1|25"]);
}

/// A schema that is older or newer is left alone.
#[test]
fn a_schema_of_another_version_is_refused() {
    let Some(world) = TestProject::on_postgres() else { return };
    let (server, schema) = world.on_server.as_ref().unwrap();
    for (version, code, exit) in [(9, "store_older", 1), (99, "store_newer", 1)] {
        server.query(schema, &format!("UPDATE project SET schema_version = {version}"));
        world.run(["ready", "--json"]).refuses(exit, code);
        world.run(["task", "add", "x", "--json"]).refuses(exit, code);
    }
    server.query(schema, "UPDATE project SET schema_version = 25");
    world.run(["ready"]).exits(0);
}
