//! The macro that makes the refusals from their entries.

macro_rules! refusals {
    ($(
        $(#[doc = $doc:literal])*
        #[error($($message:tt)+)]
        #[code($kind:ident, $code:literal)]
        $(#[hint($($hint:tt)+)])?
        $(#[hint_if($hint_if:expr)])?
        $(#[details($($details:tt)+)])?
        $(#[details_of($details_of:expr)])?
        $name:ident $({ $($field:ident: $type:ty),+ $(,)? })?
    ),+ $(,)?) => {
        #[derive(Debug, Clone, PartialEq, Eq, Error)]
        pub enum Refusal {
            $($(#[doc = $doc])* #[error($($message)+)] $name $({ $($field: $type),+ })?),+
        }

        impl Refusal {
            /// The stable code in `docs/reference/codes.md`.
            pub const fn code(&self) -> &'static str {
                match self { $(Self::$name { .. } => $code),+ }
            }

            /// The kind, whose number is the exit code.
            pub const fn kind(&self) -> FailureKind {
                match self { $(Self::$name { .. } => FailureKind::$kind),+ }
            }

            /// The commands to run next, each after its purpose, one per line.
            #[allow(unused_variables, clippy::useless_format, reason = "an entry uses the fields that its text names")]
            pub fn hint(&self) -> Option<String> {
                match self {
                    $(Self::$name $({ $($field),+ })? => {
                        let hint: Option<String> = None;
                        $(let hint = Some(format!($($hint)+));)?
                        $(let hint = $hint_if;)?
                        hint
                    })+
                }
            }

            /// The details for programs; JSON `null` when there are none.
            #[allow(unused_variables, reason = "an entry uses the fields that its details name")]
            pub fn details(&self) -> Value {
                match self {
                    $(Self::$name $({ $($field),+ })? => {
                        let details = Value::Null;
                        $(let details = json!({ $($details)+ });)?
                        $(let details = json!($details_of);)?
                        details
                    })+
                }
            }

            /// Code, kind and doc comment of each, in order, for the document of the codes.
            #[cfg(test)]
            const ENTRIES: &[(&str, FailureKind, &str)] = &[$(($code, FailureKind::$kind, concat!($($doc),*))),+];
        }
    };
}

pub(super) use refusals;
