//! The settings of reviews.

use super::section::{section, take};
use super::values::{Glob, reader};
use crate::domain::id::Label;

section! {
    /// The settings of reviews.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct ReviewSettings {
        /// The number of open reviews at which no fresh work is claimed; 0 for no limit.
        pub capacity: u32 = 0,
    }
}

section! {
    /// Files whose change has a consequence.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ConsequenceRule {
        /// A consequence that the card of a review names …
        #[sample("costs-money")]
        pub kind: String as Kind = required,
        /// … when work changes these files.
        #[sample(["infra/**"])]
        pub paths: Vec<String> as Vec<Glob>,
    }
}

reader!(Kind(String) -> String; |text: &String| Label::parse(text).map(|label| label.to_string()));

pub fn built_in_consequences() -> Vec<ConsequenceRule> {
    // A test reads it, too.
    let file = toml::from_str(include_str!("consequences.toml"));
    file.ok().and_then(|mut file| take::<Vec<ConsequenceRule>>(&mut file, "rules", None).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;
    use crate::domain::rules::review::consequences;

    #[test]
    fn files_have_the_consequences_of_every_rule_that_names_them() {
        let kinds = |path: &str| -> Vec<String> {
            let rules = built_in_consequences();
            let rules = rules.iter().map(|rule| (&*rule.kind, &*rule.paths));
            consequences(&[path.to_owned()], rules).into_iter().map(|one| one.kind).collect()
        };
        assert_eq!(kinds("src/main.rs"), [""; 0]);
        assert_eq!(kinds("package.json"), ["runs-here", "dependencies"]);
        assert_eq!(kinds("a/b/migrations/1.txt"), ["migration"]);
        assert_eq!(kinds(".github/workflows/ci.yml"), ["permissions"]);
    }

    #[test]
    fn settings_have_defaults_and_wrong_values_are_named() {
        assert_eq!(Settings::parse("").unwrap().review, ReviewSettings::default());
        assert_eq!(Settings::parse("review.capacity = 4").unwrap().review.capacity, 4);
        assert_eq!(Settings::parse("review.capacity = -1").unwrap_err().0, "review.capacity");
    }
}
