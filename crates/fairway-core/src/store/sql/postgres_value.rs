//! Values of PostgreSQL.

use std::error::Error;

use bytes::BytesMut;
use tokio_postgres::Row as ServerRow;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use super::value::{ToValue, Value, ValueType};
use crate::store::StoreError;

pub(super) fn value(row: &ServerRow, column: usize) -> Result<Value<'_>, StoreError> {
    Ok(row.try_get(column)?)
}

/// A value with the type of its parameter.
#[derive(Debug)]
pub(super) struct Bound<'a>(Value<'a>, ValueType);

/// A value of its own with the type of its parameter.
#[derive(Debug)]
pub(super) struct OwnedBound(OwnedValue, ValueType);

#[derive(Debug)]
enum OwnedValue {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
}

impl OwnedBound {
    pub(super) fn of(value: &dyn ToValue) -> Self {
        let owned = match value.to_value() {
            Value::Null => OwnedValue::Null,
            Value::Integer(number) => OwnedValue::Integer(number),
            Value::Real(number) => OwnedValue::Real(number),
            Value::Text(text) => OwnedValue::Text(text.to_owned()),
            Value::Bytes(bytes) => OwnedValue::Bytes(bytes.to_vec()),
        };
        Self(owned, value.value_type())
    }

    pub(super) fn bound(&self) -> Bound<'_> {
        let value = match &self.0 {
            OwnedValue::Null => Value::Null,
            OwnedValue::Integer(number) => Value::Integer(*number),
            OwnedValue::Real(number) => Value::Real(*number),
            OwnedValue::Text(text) => Value::Text(text),
            OwnedValue::Bytes(bytes) => Value::Bytes(bytes),
        };
        Bound(value, self.1)
    }
}

pub(super) fn bind<'a>(values: &'a [&dyn ToValue]) -> Vec<Bound<'a>> {
    values.iter().map(|value| Bound(value.to_value(), value.value_type())).collect()
}

/// The parameters of a statement with their types, as the client expects them.
pub(super) fn typed<'a>(bound: &'a [Bound<'a>]) -> Vec<(&'a (dyn ToSql + Sync), Type)> {
    let type_of = |kind| match kind {
        ValueType::Integer => Type::INT8,
        ValueType::Real => Type::FLOAT8,
        ValueType::Text => Type::TEXT,
        ValueType::Bytes => Type::BYTEA,
    };
    bound.iter().map(|bound| (bound as &(dyn ToSql + Sync), type_of(bound.1))).collect()
}

impl ToSql for Bound<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self.0 {
            Value::Null => Ok(IsNull::Yes),
            Value::Integer(number) => number.to_sql(kind, out),
            Value::Real(number) => number.to_sql(kind, out),
            Value::Text(text) => text.to_sql(kind, out),
            Value::Bytes(bytes) => bytes.to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Value<'a> {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(match *kind {
            Type::BOOL => Self::Integer(bool::from_sql(kind, raw)?.into()),
            Type::INT2 => Self::Integer(i16::from_sql(kind, raw)?.into()),
            Type::INT4 => Self::Integer(i32::from_sql(kind, raw)?.into()),
            Type::INT8 => Self::Integer(i64::from_sql(kind, raw)?),
            Type::FLOAT4 => Self::Real(f32::from_sql(kind, raw)?.into()),
            Type::FLOAT8 => Self::Real(f64::from_sql(kind, raw)?),
            Type::BYTEA => Self::Bytes(raw),
            _ => Self::Text(<&str>::from_sql(kind, raw)?),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self::Null)
    }

    fn accepts(kind: &Type) -> bool {
        matches!(
            *kind,
            Type::BOOL
                | Type::INT2
                | Type::INT4
                | Type::INT8
                | Type::FLOAT4
                | Type::FLOAT8
                | Type::BYTEA
                | Type::TEXT
                | Type::VARCHAR
                | Type::NAME
        )
    }
}
