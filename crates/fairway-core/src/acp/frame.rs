//! One JSON-RPC frame of an agent, read leniently: fields that are unknown or of another type are ignored.

use serde_json::Value;

/// JSON-RPC: the method is not supported.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// JSON-RPC: the parameters are invalid.
pub const INVALID_PARAMS: i64 = -32602;
/// The code of a request that its sender has withdrawn.
pub const REQUEST_CANCELLED: i64 = -32800;

/// The longest message of an error that is kept, in characters.
const MAX_ERROR_CHARS: usize = 1_000;

/// A frame of the agent.
#[derive(Debug, Clone, PartialEq)]
pub enum Frame {
    /// A call that needs an answer with this id.
    Request {
        /// A number or a text.
        id: Value,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    /// The answer to a request of this client.
    Response {
        id: Value,
        result: Result<Value, RpcError>,
    },
}

/// An error in a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RpcError {
    pub code: i64,
    pub message: String,
    /// As the agent has sent it.
    pub whole: Value,
}

impl Frame {
    /// Parses one line of the agent's output. The error says why the line is not a frame of the protocol.
    pub fn parse(line: &[u8]) -> Result<Self, &'static str> {
        let Ok(Value::Object(mut object)) = serde_json::from_slice(line) else { return Err("not a JSON object") };
        let mut take = |name: &str| object.remove(name).filter(|value| !value.is_null());
        let id = take("id").filter(|id| id.is_number() || id.is_string());
        let params = take("params").unwrap_or_default();
        let (method, error, result) = (take("method"), take("error"), object.remove("result"));
        match (method, id, error, result) {
            (Some(Value::String(method)), Some(id), _, _) => Ok(Self::Request { id, method, params }),
            (Some(Value::String(method)), None, _, _) => Ok(Self::Notification { method, params }),
            (None, Some(id), Some(error), _) => Ok(Self::Response { id, result: Err(RpcError::from_json(error)) }),
            (None, Some(id), None, Some(result)) => Ok(Self::Response { id, result: Ok(result) }),
            _ => Err("neither a request, a notification nor a response"),
        }
    }
}

impl RpcError {
    fn from_json(error: Value) -> Self {
        let text = |key: &str| error.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        // Several agents say "Internal error" there and put the reason into the data.
        let detail = error.get("data").and_then(|data| {
            let inner = ["details", "message", "detail"].iter().find_map(|key| data.get(*key)?.as_str());
            inner.or_else(|| data.as_str())
        });
        let message = match (text("message"), detail) {
            (Some(message), Some(detail)) if !message.contains(detail) => format!("{message}: {detail}"),
            (Some(message), _) => message.to_owned(),
            (None, Some(detail)) => detail.to_owned(),
            (None, None) => "an error without a message".to_owned(),
        };
        let code = error.get("code").and_then(Value::as_i64).unwrap_or_default();
        Self { code, message: message.chars().take(MAX_ERROR_CHARS).collect(), whole: error }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_kind_of_frame_is_read_and_anything_else_is_named() {
        let parse = |text: &str| Frame::parse(text.as_bytes());
        let request = Frame::Request { id: json!("a"), method: "m".into(), params: json!({ "x": 1 }) };
        assert_eq!(parse(r#"{"jsonrpc":"2.0","id":"a","method":"m","params":{"x":1},"more":[]}"#), Ok(request));
        assert_eq!(
            parse(r#"{"method":"m","id":null}"#),
            Ok(Frame::Notification { method: "m".into(), params: Value::Null })
        );
        assert_eq!(parse(r#"{"id":1,"result":null}"#), Ok(Frame::Response { id: json!(1), result: Ok(Value::Null) }));
        for (text, message, code) in [
            (r#"{"id":1,"error":{"code":-5,"message":"no","data":{"details":"why"}}}"#, "no: why", -5),
            (r#"{"id":1,"error":{"data":"why"},"result":{}}"#, "why", 0),
            (r#"{"id":1,"error":7}"#, "an error without a message", 0),
        ] {
            let whole = serde_json::from_str::<Value>(text).unwrap()["error"].take();
            let error = RpcError { code, message: message.into(), whole };
            assert_eq!(parse(text), Ok(Frame::Response { id: json!(1), result: Err(error) }), "{text}");
        }
        for garbage in
            ["", "hello", "[]", "7", "{}", r#"{"id":1}"#, r#"{"id":[],"result":1}"#, r#"{"method":7}"#, "{\"a\""]
        {
            assert!(parse(garbage).is_err(), "{garbage}");
        }
        assert!(Frame::parse(b"\xff\xfe").is_err());
    }
}
