//! The schema as one text: a change of it is seen, and comes with a migration once a version is out.

use rusqlite::Connection;

use crate::common::World;

#[test]
fn the_schema_is_as_it_was_when_it_was_last_looked_at() {
    let world = World::new();
    let conn = Connection::open(world.store()).unwrap();
    let mut statement = conn
        .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'refinery%' ORDER BY name")
        .unwrap();
    let parts: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    insta::assert_snapshot!(parts.join(";\n\n"));
}
