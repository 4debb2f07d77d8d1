//! The named texts that a browser sends: the fields of a form, or the query of an address.

use std::collections::BTreeMap;

use axum::extract::Request;
use axum::http::{Uri, header};

use crate::api::auth::single_header;
use crate::api::body::RequestBody;
use crate::api::error::ApiError;
use fairway_core::domain::Refusal;

/// Texts by their names. Of a repeated name the last one counts.
#[derive(Debug, Clone, Default)]
pub(super) struct Form(BTreeMap<String, String>);

impl Form {
    /// Reads the form in the body of a request, and converts line ends to LF. Error: `invalid_value` for a body that is no
    /// form.
    pub(super) async fn read(request: Request) -> Result<Self, ApiError> {
        let is_form = single_header(request.headers(), header::CONTENT_TYPE)
            .is_some_and(|kind| kind.split(';').next() == Some("application/x-www-form-urlencoded"));
        if !is_form {
            return Err(ApiError::usage("the request body is no form"));
        }
        let body = RequestBody::read(request).await?;
        Ok(Self::decode(body.bytes()))
    }

    pub(super) fn of_query(uri: &Uri) -> Self {
        Self::decode(uri.query().unwrap_or_default().as_bytes())
    }

    fn decode(text: &[u8]) -> Self {
        let pairs = form_urlencoded::parse(text);
        Self(pairs.map(|(name, value)| (name.into_owned(), value.replace("\r\n", "\n"))).collect())
    }

    /// The value of a field, or an empty text when the form has no such field.
    pub(super) fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// The trimmed value of a field. Returns `None` when nothing is left.
    pub(super) fn written(&self, name: &str) -> Option<&str> {
        Some(self.get(name).trim()).filter(|text| !text.is_empty())
    }

    /// The value of a field that the person must fill in. The error names the field by its `label`. Error: `usage`.
    pub(super) fn needed(&self, name: &str, label: &str) -> Result<String, Refusal> {
        let missing = || Refusal::Usage { why: format!("the {} is missing", label.to_lowercase()) };
        self.written(name).map(str::to_owned).ok_or_else(missing)
    }
}

/// Builds the address of a page from its path and a query. Leaves out empty values.
pub(super) fn address(path: &str, query: &[(&str, &str)]) -> String {
    let mut text = form_urlencoded::Serializer::new(String::new());
    text.extend_pairs(query.iter().filter(|(_, value)| !value.is_empty()));
    let query = text.finish();
    if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_text_of_a_name_counts_and_space_is_nothing() {
        let form = Form::decode(b"a=1&a=2&text=x%0D%0Ay+&empty=+");
        assert_eq!((form.get("a"), form.get("none")), ("2", ""));
        assert_eq!((form.written("text"), form.written("empty")), (Some("x\ny"), None));
    }

    #[test]
    fn address_leaves_out_what_is_empty_and_escapes_the_rest() {
        assert_eq!(address("tasks", &[("q", ""), ("lane", "")]), "tasks");
        assert_eq!(address("tasks", &[("q", "a&b=\"<"), ("lane", "cart")]), "tasks?q=a%26b%3D%22%3C&lane=cart");
    }
}
