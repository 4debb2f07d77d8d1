//! Secrets: their comparison, and the masking of text that looks like one. The mask keeps secrets from eyes and logs, but it is
//! no guarantee: a secret that looks like nothing known passes.
/// The text in a secret's place.
pub const MASK: &str = "•••";

/// Parts of a variable's name that show that its value is a secret.
const SECRET_NAME_PARTS: &[&str] =
    &["TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "COOKIE", "PRIVATE"];
/// Words that name a secret only at the end of a name: `API_KEY` and not `KEYBOARD`.
const SECRET_NAME_SUFFIXES: &[&str] = &["KEY", "AUTH", "PASS", "PAT", "PWD"];

/// Beginnings of keys and tokens that are known by their form.
const TOKEN_PREFIXES: &[&str] = &[
    "sk-",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxa-",
    "xoxb-",
    "xoxp-",
    "xoxs-",
    "AKIA",
    "ASIA",
    "AIza",
    "hf_",
    "npm_",
    "pypi-",
    "eyJ",
];
/// The shortest text that must follow such a beginning.
const MIN_TOKEN_TAIL: usize = 12;

pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    // The shell's own.
    if matches!(name.as_str(), "PWD" | "OLDPWD") {
        return false;
    }
    SECRET_NAME_PARTS.iter().any(|part| name.contains(part))
        || name.rsplit('_').next().is_some_and(|last| SECRET_NAME_SUFFIXES.contains(&last))
}

/// A variable's value with secrets masked; masked as a whole when the variable's name says that it is a secret.
pub fn mask_value(name: &str, value: &str) -> String {
    if !value.is_empty() && is_secret_name(name) { MASK.to_owned() } else { mask(value) }
}

/// Text in which everything that looks like a secret is masked: keys of known forms, the value of `NAME=value` when the name says
/// that it is a secret, the word after `Bearer`, a password in an address, and private keys.
pub fn mask(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        if let Some(after) = after_private_key(rest) {
            shown.push_str(MASK);
            rest = after;
            continue;
        }
        let word = rest.find(|character: char| !is_token_char(character)).unwrap_or(rest.len());
        if word == 0 {
            let mut chars = rest.chars();
            shown.extend(chars.next());
            rest = chars.as_str();
            continue;
        }
        let (this, after) = rest.split_at(word);
        let (said, after) = mask_token(this, after);
        shown.push_str(&said);
        rest = after;
    }
    shown
}

/// The word with its secret masked, and the rest of the text after what was masked with it.
fn mask_token<'a>(word: &str, after: &'a str) -> (String, &'a str) {
    let ends = |character: char| {
        character.is_whitespace() || character.is_control() || matches!(character, '"' | '\'' | ',' | ';')
    };
    if let Some(value) = after.strip_prefix('=').filter(|_| is_secret_name(word)) {
        let (quote, value) = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => (quote.to_string(), value.get(1..).unwrap_or_default()),
            _ => (String::new(), value),
        };
        let length = match quote.chars().next() {
            Some(quote) => value.find(quote),
            None => value.find(ends),
        }
        .unwrap_or(value.len());
        let rest = value.get(length..).unwrap_or_default();
        let mask = if length == 0 { "" } else { MASK };
        return (format!("{word}={quote}{mask}"), rest);
    }
    if word.eq_ignore_ascii_case("bearer")
        && let Some(token) = after.strip_prefix(' ')
    {
        let length = token.find(ends).unwrap_or(token.len());
        if length >= MIN_TOKEN_TAIL {
            return (format!("{word} {MASK}"), token.get(length..).unwrap_or_default());
        }
    }
    if let Some(address) = after.strip_prefix("://") {
        let host = address.find(|character: char| ends(character) || character == '/').unwrap_or(address.len());
        let login = address.get(..host).and_then(|login| login.rfind('@'));
        let user = login.and_then(|at| address.get(..at)?.find(':'));
        if let (Some(at), Some(colon)) = (login, user) {
            let name = address.get(..colon).unwrap_or_default();
            return (format!("{word}://{name}:{MASK}"), address.get(at..).unwrap_or_default());
        }
    }
    match TOKEN_PREFIXES.iter().find_map(|form| Some((word.find(form)?, form.len()))) {
        // At a word's beginning only: `task-eyJ` is none.
        Some((0, form)) if word.len() >= form + MIN_TOKEN_TAIL => (MASK.to_owned(), after),
        _ => (word.to_owned(), after),
    }
}

fn is_token_char(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.')
}

/// The text behind a private key's block that begins here.
fn after_private_key(text: &str) -> Option<&str> {
    let inside = text.strip_prefix("-----BEGIN ")?;
    let heading = inside.lines().next()?;
    if !heading.contains("PRIVATE KEY-----") {
        return None;
    }
    let end = inside.find("-----END ").map(|at| at + "-----END ".len());
    let close = end.and_then(|at| Some(at + inside.get(at..)?.find("-----")? + "-----".len()));
    // Cut off in the middle: all of it.
    Some(close.and_then(|at| inside.get(at..)).unwrap_or_default())
}

/// Compares two secrets in constant time, so that the duration does not reveal where they differ.
pub fn constant_time_eq(left: &[u8], right: &[u8]) -> bool {
    left.len() == right.len() && left.iter().zip(right).fold(0, |differs, (left, right)| differs | (left ^ right)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_and_the_rest_stays() {
        for (text, shown) in [
            ("API_KEY=abc123 next", "API_KEY=••• next"),
            ("DB_PASSWORD=\"a b\" x", "DB_PASSWORD=\"•••\" x"),
            ("token is sk-abcdefghijklmnop.", "token is •••"),
            ("Authorization: Bearer abcdefghijklmnop\n", "Authorization: Bearer •••\n"),
            ("git clone https://me:hunter2@host/x", "git clone https://me:•••@host/x"),
            ("a -----BEGIN RSA PRIVATE KEY-----\nxx\n-----END RSA PRIVATE KEY----- b", "a ••• b"),
            ("-----BEGIN PRIVATE KEY-----\nxx", "•••"),
            (
                "KEYBOARD=de PWD=/x sk-short tasks-abcdefghijklmnop",
                "KEYBOARD=de PWD=/x sk-short tasks-abcdefghijklmnop",
            ),
            ("Grüße 👋 https://host/a@b", "Grüße 👋 https://host/a@b"),
            ("AKIAABCDEFGHIJKLMNOP", "•••"),
        ] {
            assert_eq!(mask(text), shown);
        }
        assert_eq!(mask_value("GITHUB_TOKEN", "x"), MASK);
        assert_eq!(mask_value("GITHUB_TOKEN", ""), "");
        assert_eq!(mask_value("LANG", "C"), "C");
    }
}
