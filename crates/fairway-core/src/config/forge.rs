//! The settings of forges.

use super::section::section;
use super::values::reader;

section! {
    /// The settings of forges.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ForgeSettings {
        /// The forge script: github, or a script that speaks the forge script protocol.
        pub script: String as Script = "github",
        /// Accounts, such as those of review bots, whose words on a pull request count although they may not write.
        #[sample(["coderabbitai[bot]"])]
        pub trusted: Vec<String>,
    }
}

reader!(Script(String) -> String; |script: &String| {
    if script.trim().is_empty() { Err("must name a script") } else { Ok(script.clone()) }
});
