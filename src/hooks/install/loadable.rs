//! Checks whether a provider would load a settings file. Hooks of a file that it does not load are never run, mostly without a
//! message.

use serde_json::Value;

use super::json_edit::{self, BOM};
use crate::hooks::Provider;

/// Checks that the provider loads settings with this text, and runs their hooks.
///
/// # Errors
/// The reason, as a predicate of the file.
pub fn check_loadable(provider: Provider, text: &str) -> Result<(), String> {
    let body = text.strip_prefix(BOM).unwrap_or(text);
    if body.len() != text.len() && provider != Provider::Claude {
        return Err(format!("begins with a byte order mark, and {} does not load such a file", provider.label()));
    }
    let strict: Result<Value, _> = serde_json::from_str(body);
    let value = match (provider, strict) {
        (_, Ok(value)) => value,
        (Provider::Gemini, Err(_)) => {
            json_edit::parse_without_trailing_commas(body)?;
            json_edit::parse(body)?.as_ref().map(json_edit::to_value).unwrap_or_default()
        }
        (Provider::Claude | Provider::Codex, Err(why)) => {
            let problem = match json_edit::parse(body) {
                Ok(_) => "has comments or a trailing comma".to_owned(),
                Err(_) => format!("is not valid JSON ({why})"),
            };
            return Err(format!("{problem}, and {} does not load such a file", provider.label()));
        }
    };
    match provider {
        Provider::Claude if value["disableAllHooks"] == true => Err("sets disableAllHooks".into()),
        Provider::Codex => match value.as_object().and_then(|all| all.keys().find(|key| !is_known_key(key))) {
            Some(key) => Err(format!("has the unknown key '{}': codex does not load such a file", key.escape_debug())),
            None => Ok(()),
        },
        Provider::Gemini => {
            for section in ["hooksConfig", "hooks"] {
                let section = &value[section];
                if section["enabled"] == false {
                    return Err("disables hooks".into());
                }
                let disabled = section["disabled"].as_array();
                if disabled.is_some_and(|names| names.iter().any(|name| name == "fairway")) {
                    return Err("has 'fairway' in its list of disabled hooks".into());
                }
            }
            Ok(())
        }
        Provider::Claude => Ok(()),
    }
}

fn is_known_key(key: &str) -> bool {
    matches!(key, "hooks" | "description")
}

#[cfg(test)]
mod tests {
    use Provider::{Claude, Codex, Gemini};

    use super::*;

    /// As tried with Claude Code 2.1.329, Codex 0.169.0 and Gemini CLI 0.61.0.
    #[test]
    fn settings_file_is_loaded_as_the_provider_does() {
        for (text, by) in [
            ("{}", vec![Claude, Codex, Gemini]),
            ("{\"hooks\": {}} // c", vec![Gemini]),
            ("{/* c */}", vec![Gemini]),
            ("{\"hooks\": {},}", vec![]),
            ("\u{feff}{}", vec![Claude]),
            ("{\"other\": 1}", vec![Claude, Gemini]),
            ("{\"description\": \"x\"}", vec![Claude, Codex, Gemini]),
            ("{\"disableAllHooks\": true}", vec![Gemini]),
            ("{\"disableAllHooks\": false}", vec![Claude, Gemini]),
            ("{\"hooksConfig\": {\"enabled\": false}}", vec![Claude]),
            ("{\"hooksConfig\": {\"disabled\": [\"fairway\"]}}", vec![Claude]),
            ("{'a': 1}", vec![]),
            ("", vec![]),
        ] {
            for provider in Provider::ALL {
                let loaded = check_loadable(*provider, text);
                // An empty file is none for the one that strips comments first.
                if !(text.is_empty() && *provider == Gemini) {
                    assert_eq!(loaded.is_ok(), by.contains(provider), "{text} {provider:?} {loaded:?}");
                }
            }
        }
    }
}
