//! The JSON Schemas of the documents that `--json` prints, made from the types that are printed. Only tests contain this
//! module: its result are `docs/reference/schemas.json` and the lists of `docs/reference/json.md`.

mod documents;
#[expect(dead_code, reason = "only the schemas of the types are used")]
mod event_data;
mod files;
mod generate;
