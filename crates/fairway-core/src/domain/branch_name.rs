//! Names of branches and commits, as git has them: what passes here can stand in an argument list.

use super::Refusal;
use super::excerpt::excerpt;

const MAX_NAME_BYTES: usize = 200;

/// Checks a branch's name by git's own rules, so that a wrong name is refused before git is called.
/// Fails with [`Refusal::Invalid`] naming `what`.
pub fn check(what: &'static str, name: &str) -> Result<String, Refusal> {
    let bad_char = |character: char| character.is_control() || character == ' ' || "~^:?*[\\".contains(character);
    let bad_part = |part: &str| {
        part.is_empty() || part.starts_with('.') || part.ends_with('.') || part.to_ascii_lowercase().ends_with(".lock")
    };
    let bad = name.len() > MAX_NAME_BYTES
        || name.starts_with('-')
        || name == "@"
        || name == "HEAD"
        || name.contains("..")
        || name.contains("@{")
        || name.contains(bad_char)
        || name.split('/').any(bad_part);
    if bad {
        return Err(Refusal::invalid(what, format!("'{}' is not a valid branch name", excerpt(name))));
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_git_refuses_are_refused_here() {
        for good in ["main", "lane/platform", "a.b", "fix-1", "é"] {
            assert!(check("branch", good).is_ok(), "{good}");
        }
        let bad = [
            "", "-b", "a b", "a..b", "a~1", "a^", "a:b", "/a", "a/", "a//b", "a.lock", ".a", "a.", "@", "a@{0}", "a\\b",
        ];
        for bad in bad.into_iter().chain(["a\nb", "HEAD", "refs/heads/*", "x/.git"]) {
            assert!(check("branch", bad).is_err(), "{bad}");
        }
    }
}
