//! The text of a statement, for each engine.

/// The text of a statement: the same for both engines, or one for each where they differ.
#[derive(Debug, Clone, Copy)]
pub struct Statement<'s> {
    pub sqlite: &'s str,
    /// For PostgreSQL.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "read by the engine alone"))]
    pub postgres: &'s str,
}

impl<'s> From<&'s str> for Statement<'s> {
    fn from(text: &'s str) -> Self {
        Self { sqlite: text, postgres: text }
    }
}

impl<'s> From<&'s String> for Statement<'s> {
    fn from(text: &'s String) -> Self {
        text.as_str().into()
    }
}

/// A statement that reads the texts of the JSON array `$n`: `json_texts!(before, "$n", after)`. They are its column `value`.
macro_rules! json_texts {
    ($before:expr, $parameter:literal, $after:expr) => {
        $crate::store::sql::Statement {
            sqlite: concat!($before, "json_each(", $parameter, ")", $after),
            postgres: concat!($before, "json_array_elements_text(", $parameter, "::json)", $after),
        }
    };
}
/// A statement that reads the arrays of the JSON array `$1`: `json_rows!(before, after)`. Each is the column `value`, with the items
/// `value ->> 0` and so on. The type is `jsonb`, which is parsed once: `json` is parsed again for each item.
macro_rules! json_rows {
    ($before:expr, $after:expr) => {
        $crate::store::sql::Statement {
            sqlite: concat!($before, "json_each($1)", $after),
            postgres: concat!($before, "jsonb_array_elements($1::jsonb)", $after),
        }
    };
}
pub(in crate::store) use {json_rows, json_texts};
