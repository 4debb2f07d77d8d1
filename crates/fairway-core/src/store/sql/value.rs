//! Values of parameters and columns, the same for every engine.

/// A value of a parameter or a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    Null,
    /// A number; a flag is 0 or 1.
    Integer(i64),
    /// A floating point number.
    Real(f64),
    Text(&'a str),
    Bytes(&'a [u8]),
}

/// The type of a value. PostgreSQL must know the type of a NULL too.
#[cfg(feature = "postgres")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueType {
    Integer,
    Real,
    Text,
    Bytes,
}

/// A value that can be bound to a parameter.
pub trait ToValue {
    fn to_value(&self) -> Value<'_>;

    /// The type of the parameter, which must be known even for NULL.
    #[cfg(feature = "postgres")]
    fn value_type(&self) -> ValueType;
}

/// A Rust type whose values are of one type.
pub trait TypedValue {
    #[cfg(feature = "postgres")]
    const TYPE: ValueType;

    fn typed_value(&self) -> Value<'_>;
}

impl<T: TypedValue> ToValue for T {
    fn to_value(&self) -> Value<'_> {
        self.typed_value()
    }

    #[cfg(feature = "postgres")]
    fn value_type(&self) -> ValueType {
        T::TYPE
    }
}

/// A type that a column can be read as.
pub trait FromValue: Sized {
    /// The meaning of a text that must be one of a set; `None` where any value of the type will do.
    const MEANING: Option<&'static str> = None;

    /// Converts a value; `None` when it is not of this type.
    fn from_value(value: Value<'_>) -> Option<Self>;
}

macro_rules! integers {
    ($($type:ty),+) => {
        $(
            impl TypedValue for $type {
                #[cfg(feature = "postgres")]
                const TYPE: ValueType = ValueType::Integer;

                fn typed_value(&self) -> Value<'_> {
                    Value::Integer((*self).into())
                }
            }

            impl FromValue for $type {
                fn from_value(value: Value<'_>) -> Option<Self> {
                    match value {
                        Value::Integer(number) => number.try_into().ok(),
                        _ => None,
                    }
                }
            }
        )+
    };
}

integers!(i64, i32, u32, u16, u8);

impl TypedValue for bool {
    #[cfg(feature = "postgres")]
    const TYPE: ValueType = ValueType::Integer;

    fn typed_value(&self) -> Value<'_> {
        Value::Integer((*self).into())
    }
}

impl FromValue for bool {
    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Integer(number) => Some(number != 0),
            _ => None,
        }
    }
}

impl TypedValue for f64 {
    #[cfg(feature = "postgres")]
    const TYPE: ValueType = ValueType::Real;

    fn typed_value(&self) -> Value<'_> {
        Value::Real(*self)
    }
}

impl FromValue for f64 {
    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Real(number) => Some(number),
            #[expect(clippy::cast_precision_loss, reason = "as SQLite converts a number")]
            Value::Integer(number) => Some(number as Self),
            _ => None,
        }
    }
}

impl TypedValue for str {
    #[cfg(feature = "postgres")]
    const TYPE: ValueType = ValueType::Text;

    fn typed_value(&self) -> Value<'_> {
        Value::Text(self)
    }
}

impl TypedValue for String {
    #[cfg(feature = "postgres")]
    const TYPE: ValueType = ValueType::Text;

    fn typed_value(&self) -> Value<'_> {
        Value::Text(self)
    }
}

impl FromValue for String {
    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Text(text) => Some(text.to_owned()),
            _ => None,
        }
    }
}

impl<const N: usize> TypedValue for [u8; N] {
    #[cfg(feature = "postgres")]
    const TYPE: ValueType = ValueType::Bytes;

    fn typed_value(&self) -> Value<'_> {
        Value::Bytes(self)
    }
}

impl<const N: usize> FromValue for [u8; N] {
    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Bytes(bytes) => bytes.try_into().ok(),
            _ => None,
        }
    }
}

impl<T: TypedValue + ?Sized> TypedValue for &T {
    #[cfg(feature = "postgres")]
    const TYPE: ValueType = T::TYPE;

    fn typed_value(&self) -> Value<'_> {
        (**self).typed_value()
    }
}

impl<T: TypedValue> TypedValue for Option<T> {
    #[cfg(feature = "postgres")]
    const TYPE: ValueType = T::TYPE;

    fn typed_value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null, TypedValue::typed_value)
    }
}

impl<T: FromValue> FromValue for Option<T> {
    const MEANING: Option<&'static str> = T::MEANING;

    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Null => Some(None),
            value => T::from_value(value).map(Some),
        }
    }
}
