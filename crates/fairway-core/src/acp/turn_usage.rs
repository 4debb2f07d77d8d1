//! The tokens of a turn, from the agent's answer to a prompt.

use serde_json::Value;

use crate::domain::usage::Usage;

/// Reads the token usage from the answer to `session/prompt`: from the protocol's field, else from an extension that several
/// agents share. `None` when the answer reports no tokens.
pub fn of_answer(result: &Value) -> Option<Usage> {
    let quota = result.pointer("/_meta/quota");
    let model = quota.and_then(|quota| quota.pointer("/model_usage/0/model")?.as_str()).map(str::to_owned);
    let counts = result.get("usage").filter(|usage| usage.is_object()).or_else(|| quota?.get("token_count"))?;
    let count = |keys: &[&str]| keys.iter().find_map(|key| counts.get(*key)?.as_u64()).unwrap_or_default();
    let (input, output) = (count(&["inputTokens", "input_tokens"]), count(&["outputTokens", "output_tokens"]));
    let read = count(&["cachedReadTokens", "cached_read_tokens", "cachedInputTokens"]);
    let created = count(&["cachedWriteTokens", "cached_write_tokens"]);
    let total = count(&["totalTokens", "total_tokens"]);
    // Some agents count cached tokens as input; the total shows whether this one does.
    let is_cache_in_input =
        total > 0 && total < input.saturating_add(output).saturating_add(read).saturating_add(created);
    let input_tokens = if is_cache_in_input { input.saturating_sub(read).saturating_sub(created) } else { input };
    let usage = Usage {
        model: model.filter(|model| !model.is_empty() && model.len() <= crate::domain::usage::MAX_NAME_BYTES),
        input_tokens,
        output_tokens: output,
        cache_read_tokens: read,
        cache_creation_tokens: created,
        cost_usd: None,
    };
    (input + output + read + created > 0).then_some(usage)
}

/// The usage between two sums of a session. A sum below the earlier one began anew.
pub fn since(sum: &Usage, earlier: &Usage) -> Usage {
    let all = |of: &Usage| of.input_tokens + of.output_tokens + of.cache_read_tokens + of.cache_creation_tokens;
    if all(sum) < all(earlier) {
        return sum.clone();
    }
    Usage {
        input_tokens: sum.input_tokens.saturating_sub(earlier.input_tokens),
        output_tokens: sum.output_tokens.saturating_sub(earlier.output_tokens),
        cache_read_tokens: sum.cache_read_tokens.saturating_sub(earlier.cache_read_tokens),
        cache_creation_tokens: sum.cache_creation_tokens.saturating_sub(earlier.cache_creation_tokens),
        ..sum.clone()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tokens_are_read_in_each_form_and_do_not_overlap() {
        let beside = json!({ "usage": { "inputTokens": 200, "outputTokens": 40, "cachedReadTokens": 7, "cachedWriteTokens": 3,
            "totalTokens": 250 }, "_meta": { "quota": { "model_usage": [{ "model": "m" }] } } });
        let within = json!({ "usage": { "totalTokens": 240, "inputTokens": 200, "cachedReadTokens": 7,
            "cachedWriteTokens": 3, "outputTokens": 40 } });
        let extension =
            json!({ "_meta": { "quota": { "token_count": { "input_tokens": 200, "output_tokens": 40 } } } });
        let of = |answer| of_answer(&answer).unwrap();
        let usage = of(beside);
        assert_eq!((usage.model.as_deref(), usage.input_tokens, usage.cache_read_tokens), (Some("m"), 200, 7));
        let usage = of(within);
        assert_eq!((usage.input_tokens, usage.cache_read_tokens, usage.cache_creation_tokens), (190, 7, 3));
        assert_eq!((of(extension.clone()).input_tokens, of(extension).output_tokens), (200, 40));
        for silent in
            [json!({}), json!({ "usage": null }), json!({ "usage": { "inputTokens": 0 } }), json!({ "usage": 7 })]
        {
            assert_eq!(of_answer(&silent), None, "{silent}");
        }
    }
}
