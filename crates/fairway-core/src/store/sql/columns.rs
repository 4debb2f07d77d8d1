//! The columns of a table, written once.

/// Joins parts of a statement when the program is compiled.
macro_rules! text {
    ($($part:expr),+ $(,)?) => {{
        const PARTS: &[&str] = &[$($part),+];
        const BYTES: [u8; $crate::store::sql::columns::length(PARTS)] = $crate::store::sql::columns::join(PARTS);
        match std::str::from_utf8(&BYTES) {
            Ok(text) => text,
            Err(_) => "",
        }
    }};
}

/// Declares which column holds which field of an entity: `field = "column"`, or `field` where both have one name. The columns
/// before the semicolon are those that the store or a special statement writes.
///
/// It makes `COLUMNS` for a SELECT and `read` for its rows. For the columns behind the semicolon it makes `WRITTEN`,
/// `PLACEHOLDERS` from `$1` on, and `values`.
macro_rules! columns {
    ($entity:ident { $($given:ident $(= $given_column:literal)?),* ; $($field:ident $(= $column:literal)?),+ $(,)? }) => {
        const WRITTEN: &str = sql::columns::without_end(
            concat!($(sql::columns::name!($field $(= $column)?), ", "),+)
        );
        const PLACEHOLDERS: &str = sql::columns::placeholders([$(stringify!($field)),+].len());
        const COLUMNS: &str = sql::columns::text!(
            concat!($(sql::columns::name!($given $(= $given_column)?), ", "),*),
            WRITTEN
        );

        fn read(row: &Row<'_>) -> Result<$entity, StoreError> {
            let mut columns = 0..;
            let mut next = || columns.next().unwrap_or_default();
            Ok($entity {
                $($given: row.get(next())?,)*
                $($field: row.get(next())?,)+
            })
        }

        fn values(entity: &$entity) -> Vec<&dyn sql::ToValue> {
            vec![$(&entity.$field),+]
        }
    };
}

/// The column of a field.
macro_rules! name {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident = $column:literal) => {
        $column
    };
}

pub(in crate::store) use {columns, name, text};

const ALL_PLACEHOLDERS: &str = "$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, \
     $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38, $39, $40, ";

/// The first `count` placeholders of a statement's values, such as `$1, $2`.
pub(in crate::store) const fn placeholders(count: usize) -> &'static str {
    let bytes = ALL_PLACEHOLDERS.as_bytes();
    let (mut at, mut left) = (0, count);
    while left > 0 {
        if bytes[at] == b',' {
            left -= 1;
        }
        at += 1;
    }
    ALL_PLACEHOLDERS.split_at(at.saturating_sub(1)).0
}

/// Removes the last `, ` from a list.
pub(in crate::store) const fn without_end(list: &str) -> &str {
    list.split_at(list.len() - 2).0
}

pub(in crate::store) const fn length(parts: &[&str]) -> usize {
    let (mut length, mut part) = (0, 0);
    while part < parts.len() {
        length += parts[part].len();
        part += 1;
    }
    length
}

pub(in crate::store) const fn join<const LENGTH: usize>(parts: &[&str]) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    let (mut to, mut part) = (0, 0);
    while part < parts.len() {
        let from = parts[part].as_bytes();
        let mut at = 0;
        while at < from.len() {
            bytes[to] = from[at];
            (to, at) = (to + 1, at + 1);
        }
        part += 1;
    }
    bytes
}
