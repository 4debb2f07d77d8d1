//! Unified diffs of settings files, with secrets masked.

use std::path::Path;

use similar::TextDiff;

use crate::domain::secrets;

/// How many unchanged lines are shown around a change.
const CONTEXT_LINES: usize = 3;

/// The unified diff of two texts of a file; `None` stands for a missing file. Empty without a difference. Secrets are masked.
pub fn unified(path: &Path, before: Option<&str>, after: Option<&str>) -> String {
    if before == after {
        return String::new();
    }
    let name = |text: Option<&str>| text.map_or_else(|| "/dev/null".to_owned(), |_| path.display().to_string());
    let diff = TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default());
    let text = diff.unified_diff().context_radius(CONTEXT_LINES).header(&name(before), &name(after)).to_string();
    text.split_inclusive('\n').map(mask_line).collect()
}

/// Masks secrets in a line of JSON. `"API_KEY": "…"` is not a form that [`secrets::mask`] finds.
fn mask_line(line: &str) -> String {
    let value = || -> Option<(&str, &str, &str)> {
        let (head, rest) = line.split_once("\": \"").or_else(|| line.split_once("\":\""))?;
        let name = head.rsplit('"').next()?;
        let end = rest.rfind('"')?;
        secrets::is_secret_name(name).then_some(())?;
        Some((line.get(..line.len() - rest.len())?, rest.get(..end)?, rest.get(end..)?))
    };
    match value() {
        Some((before, secret, after)) if !secret.is_empty() => format!("{before}{}{after}", secrets::MASK),
        _ => secrets::mask(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diff_context_masks_secrets() {
        let before = "{\n  \"API_KEY\": \"hunter2\",\n  \"model\": \"x\"\n}\n";
        let after = before.replace("\"x\"", "\"y\"");
        let diff = unified(Path::new("/s.json"), Some(before), Some(&after));
        assert!(!diff.contains("hunter2"), "{diff}");
        for line in
            ["--- /s.json", "+++ /s.json", "   \"API_KEY\": \"•••\",", "-  \"model\": \"x\"", "+  \"model\": \"y\""]
        {
            assert!(diff.lines().any(|known| known == line), "{line} in {diff}");
        }
        assert_eq!(unified(Path::new("/s"), None, None), "");
    }
}
