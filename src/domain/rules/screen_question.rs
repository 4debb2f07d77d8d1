//! The question of an agent's program on its screen. What is typed then is the answer.

/// How many of the last lines with text an open question can be in. A program asks at the end of its screen; a question that
/// was answered may stay above.
const MAX_LINES: usize = 14;

/// The first of `signs` that stands on a screen, as text without control sequences. Runs of blanks and the lines of boxes do
/// not count, and a sign may be broken over lines.
pub fn find<'a>(screen: &str, signs: &'a [String]) -> Option<&'a str> {
    let shown = normalized(&last_lines(screen).join(" "));
    signs.iter().map(String::as_str).find(|sign| {
        let sign = normalized(sign);
        !sign.is_empty() && shown.contains(&sign)
    })
}

/// The line of a screen that holds a sign, without the frame and the cursor around its text. A sign that is broken over lines
/// stands for itself.
pub fn line_of<'a>(screen: &'a str, sign: &'a str) -> &'a str {
    let is_frame = |character: char| {
        character.is_whitespace() || ('\u{2500}'..='\u{25ff}').contains(&character) || "❯›>|".contains(character)
    };
    let lines = last_lines(screen);
    lines.iter().rev().find(|line| line.contains(sign)).map_or(sign, |line| line.trim_matches(is_frame))
}

/// The last lines with text.
fn last_lines(screen: &str) -> Vec<&str> {
    let lines: Vec<&str> = screen.lines().filter(|line| !line.trim().is_empty()).collect();
    lines.get(lines.len().saturating_sub(MAX_LINES)..).unwrap_or_default().to_vec()
}

/// Text with single blanks, without the lines of boxes.
fn normalized(text: &str) -> String {
    let text = text.replace(|character: char| matches!(character, '\u{2500}'..='\u{257f}'), " ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signs() -> Vec<String> {
        ["", "Do you trust the files in this directory?", "Yes, allow once"].map(str::to_owned).to_vec()
    }

    #[test]
    fn sign_is_found_inside_a_box_and_over_broken_lines() {
        for screen in [
            "Do you trust the files in this directory?\n❯ 1. Yes",
            "╭────╮\n│ Do you trust the   │\n│ files in this directory? │\n╰────╯",
            "$ agent\n\n   Do you trust   the files in this directory?\n\n\n",
        ] {
            assert_eq!(find(screen, &signs()), Some("Do you trust the files in this directory?"), "{screen}");
        }
        assert_eq!(find("  2. Yes, allow once", &signs()), Some("Yes, allow once"));
    }

    #[test]
    fn screen_without_a_question_at_its_end_is_none() {
        assert_eq!(find("", &signs()), None);
        assert_eq!(find("❯ \n  ? for shortcuts", &signs()), None);
        let answered = format!("Do you trust the files in this directory?\n{}❯ ", "a line\n".repeat(MAX_LINES - 1));
        assert_eq!(find(&answered, &signs()), None);
        assert_eq!(find("Do you trust the files in this directory?", &[]), None);
    }

    #[test]
    fn line_of_a_sign_has_no_frame_and_a_broken_sign_stands_for_itself() {
        assert_eq!(line_of("\n│ ❯ 2. Yes, allow once │\n\n", "Yes, allow"), "2. Yes, allow once");
        assert_eq!(line_of("│ Yes, │\n│ allow │", "Yes, allow"), "Yes, allow");
    }
}
