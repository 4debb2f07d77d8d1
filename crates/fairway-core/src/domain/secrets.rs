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
    "sk-", "sk_live_", "sk_test_", "rk_live_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-",
    "xoxa-", "xoxb-", "xoxp-", "xoxs-", "AKIA", "ASIA", "AIza", "hf_", "npm_", "pypi-", "eyJ",
];
/// The shortest text that must follow such a beginning.
const MIN_TOKEN_TAIL: usize = 12;
/// The end of the heading of a private key's block.
const KEY_HEADING_END: &[u8] = b"PRIVATE KEY-----";
/// The longest heading of a private key's block that is looked for, in bytes.
const MAX_HEADING_BYTES: usize = 80;

pub fn is_secret_name(name: &str) -> bool {
    // An option has the dashes of its command line.
    let name = name.to_ascii_uppercase().replace('-', "_");
    // The shell's own, and names of files.
    if matches!(name.as_str(), "PWD" | "OLDPWD") || name.ends_with("_FILE") || name.ends_with("_PATH") {
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
/// that it is a secret, the word after `Bearer`, a password in an address, and private keys. A value ends with its quote or its
/// line.
pub fn mask(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = "";
    while !rest.is_empty() {
        if let Some(after) = after_private_key(rest) {
            shown.push_str(MASK);
            rest = after;
            continue;
        }
        let word = rest.bytes().position(|byte| !is_token_byte(byte)).unwrap_or(rest.len());
        if word == 0 {
            let other = rest.bytes().position(is_token_byte).unwrap_or(rest.len());
            let (this, after) = rest.split_at(other);
            shown.push_str(this);
            before = last_quote(this);
            rest = after;
            continue;
        }
        let (this, after) = rest.split_at(word);
        rest = mask_token(before, this, after, &mut shown);
    }
    shown
}

/// The quote at the end of a text, with the backslashes that a text of JSON puts before it; else empty.
fn last_quote(text: &str) -> &str {
    let bare = text.strip_suffix(['"', '\'']).map_or(text.len(), |bare| bare.trim_end_matches('\\').len());
    text.get(bare..).unwrap_or_default()
}

/// Shows the word with its secret masked, and returns the rest of the text after what was masked with it. `before` is the quote
/// before the word.
fn mask_token<'a>(before: &str, word: &str, after: &'a str, shown: &mut String) -> &'a str {
    if let Some(value) = after.strip_prefix('=').filter(|_| is_secret_name(word)) {
        shown.extend([word, "="]);
        return mask_assigned(before, value, shown);
    }
    if word.eq_ignore_ascii_case("bearer")
        && let Some(token) = after.strip_prefix(' ')
    {
        let length = token.find(ends_value).unwrap_or(token.len());
        if length >= MIN_TOKEN_TAIL {
            shown.extend([word, " ", MASK]);
            return token.get(length..).unwrap_or_default();
        }
    }
    if let Some(address) = after.strip_prefix("://") {
        let host = address.find(|character: char| ends_value(character) || character == '/').unwrap_or(address.len());
        let login = address.get(..host).and_then(|login| login.rfind('@'));
        let user = login.and_then(|at| address.get(..at)?.find(':'));
        if let (Some(at), Some(colon)) = (login, user) {
            shown.extend([word, "://", address.get(..colon).unwrap_or_default(), ":", MASK]);
            return address.get(at..).unwrap_or_default();
        }
    }
    match token_start(word) {
        Some(start) => shown.extend([word.get(..start).unwrap_or_default(), MASK]),
        None => shown.push_str(word),
    }
    after
}

/// Shows the value behind `NAME=` masked, and returns the text after it. `before` is the quote before the name.
fn mask_assigned<'a>(before: &str, value: &'a str, shown: &mut String) -> &'a str {
    let backslashes = value.bytes().take_while(|byte| *byte == b'\\').count();
    let quote = value.get(..=backslashes).filter(|quote| quote.ends_with(['"', '\''])).unwrap_or_default();
    let value = value.get(quote.len()..).unwrap_or_default();
    shown.push_str(quote);
    if let Some(after) = after_private_key(value) {
        shown.push_str(MASK);
        return after;
    }
    let closing = match quote {
        // The quote ends the text that the name is in: `"TOKEN="` with its value behind it.
        quote if quote == before => "",
        "" => before,
        quote => quote,
    };
    let bytes = value.as_bytes();
    let is_closed = |at: usize| bytes.get(at..).is_some_and(|rest| rest.starts_with(closing.as_bytes()));
    let end = match closing {
        "" => value.find(ends_value),
        _ => bytes.iter().enumerate().position(|(at, byte)| matches!(byte, b'\n' | b'\r') || is_closed(at)),
    };
    let end = end.unwrap_or(value.len());
    shown.push_str(if end == 0 { "" } else { MASK });
    value.get(end..).unwrap_or_default()
}

fn ends_value(character: char) -> bool {
    character.is_whitespace() || character.is_control() || matches!(character, '"' | '\'' | ',' | ';')
}

/// Where a token of a known form begins in the word: at its beginning or after a character that is no letter or digit, so that
/// `tasks-…` is none.
fn token_start(word: &str) -> Option<usize> {
    let last = word.len().checked_sub(MIN_TOKEN_TAIL)?;
    let mut before = b'-';
    word.bytes().take(last).enumerate().find_map(|(start, byte)| {
        let begins = !before.is_ascii_alphanumeric() && byte.is_ascii_alphabetic();
        before = byte;
        let text = word.get(start..).filter(|_| begins)?;
        let is_token = |form: &&str| text.len() >= form.len() + MIN_TOKEN_TAIL && text.starts_with(*form);
        TOKEN_PREFIXES.iter().any(is_token).then_some(start)
    })
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// The text behind a private key's block that begins here.
fn after_private_key(text: &str) -> Option<&str> {
    let inside = text.strip_prefix("-----BEGIN ")?;
    let heading = inside.bytes().take(MAX_HEADING_BYTES).take_while(|byte| *byte != b'\n').count();
    let heading = inside.as_bytes().get(..heading).unwrap_or_default();
    if !heading.windows(KEY_HEADING_END.len()).any(|text| text == KEY_HEADING_END) {
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
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn secrets_are_masked_and_the_rest_stays() {
        for (text, shown) in [
            ("API_KEY=abc123 next", "API_KEY=••• next"),
            ("DB_PASSWORD=\"a b\" x", "DB_PASSWORD=\"•••\" x"),
            ("tool --api-key=abc123 --max-keys=3", "tool --api-key=••• --max-keys=3"),
            ("x-api-key=abc --password='a b' -x", "x-api-key=••• --password='•••' -x"),
            ("token is sk-abcdefghijklmnop.", "token is •••"),
            ("Authorization: Bearer abcdefghijklmnop\n", "Authorization: Bearer •••\n"),
            ("git clone https://me:hunter2@host/x", "git clone https://me:•••@host/x"),
            ("a -----BEGIN RSA PRIVATE KEY-----\nxx\n-----END RSA PRIVATE KEY----- b", "a ••• b"),
            ("-----BEGIN PRIVATE KEY-----\nxx", "•••"),
            ("-----BEGIN CERTIFICATE-----\nxx", "-----BEGIN CERTIFICATE-----\nxx"),
            (
                "KEYBOARD=de PWD=/x sk-short tasks-abcdefghijklmnop",
                "KEYBOARD=de PWD=/x sk-short tasks-abcdefghijklmnop",
            ),
            ("Grüße 👋 https://host/a@b", "Grüße 👋 https://host/a@b"),
            ("AKIAABCDEFGHIJKLMNOP", "•••"),
            ("ghp_abcdefghijklmnopqsk-uvwxyz0123456789", "•••"),
            ("glpat-ABCDEFghp_JKLMNOPQRSTUV x", "••• x"),
            ("x ci-ghp_abcdefghijklmnop a.eyJhbGciOiJSUzI1NiJ9.x", "x ci-••• a.•••"),
            ("TOKEN_FILE=/run/token A_PATH=/p", "TOKEN_FILE=/run/token A_PATH=/p"),
        ] {
            assert_eq!(mask(text), shown);
        }
        assert_eq!(mask_value("GITHUB_TOKEN", "x"), MASK);
        assert_eq!(mask_value("GITHUB_TOKEN", ""), "");
        assert_eq!(mask_value("LANG", "C"), "C");
        assert_eq!(mask_value("GITHUB_TOKEN_FILE", "/run/token"), "/run/token");
    }

    #[test]
    fn value_ends_with_its_quote_or_its_line() {
        for (text, shown) in [
            ("if \"password=\" in line]\n  File \"x.py\"", "if \"password=\" in line]\n  File \"x.py\""),
            ("\"PASSWORD=\"hunter2 x", "\"PASSWORD=\"••• x"),
            ("[\"PASSWORD=a b\", \"c\"]", "[\"PASSWORD=•••\", \"c\"]"),
            ("PASSWORD=\"a b\nnext \"line\"", "PASSWORD=\"•••\nnext \"line\""),
            ("{\"run\":\"PASSWORD=\\\"a b\\\" ls\"}", "{\"run\":\"PASSWORD=\\\"•••\\\" ls\"}"),
            ("KEY='-----BEGIN PRIVATE KEY-----\nxx\n-----END PRIVATE KEY-----' b", "KEY='•••' b"),
            ("KEY= b", "KEY= b"),
        ] {
            assert_eq!(mask(text), shown);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn token_is_masked_whatever_forms_are_in_it(
            before in prop_oneof!["[ /:@(é]", "x{1,5}[-_.]"],
            form in prop::sample::select(TOKEN_PREFIXES),
            random in "[A-Za-z0-9_.-]{12}",
            parts in prop::collection::vec(
                prop_oneof![prop::sample::select(TOKEN_PREFIXES).prop_map(str::to_owned), "[A-Za-z0-9_.-]{1,40}"],
                0..6,
            ),
        ) {
            let token = format!("{form}{}{random}", parts.concat());
            prop_assert_eq!(mask(&format!("a {before}{token} b")), format!("a {before}{MASK} b"));
        }

        #[test]
        fn text_without_signs_of_secrets_stays(text in "[a-z éü\n\"':;,()/]{0,200}") {
            prop_assert_eq!(mask(&text), text);
        }
    }
}
