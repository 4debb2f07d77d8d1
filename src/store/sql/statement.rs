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
