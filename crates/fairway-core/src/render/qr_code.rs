//! QR codes, for a terminal and as a path of SVG.

use std::fmt::Write as _;

use qrcodegen::{QrCode as Matrix, QrCodeEcc};

/// The light margin around a code that readers need, in modules.
const MARGIN: i32 = 4;

/// A text as dark and light modules.
pub struct QrCode(Matrix);

impl QrCode {
    /// Encodes a text; `None` when it is too long.
    pub fn new(text: &str) -> Option<Self> {
        Matrix::encode_text(text, QrCodeEcc::Low).ok().map(Self)
    }

    /// The number of modules on one side, with the margin.
    pub fn size(&self) -> i32 {
        self.0.size() + 2 * MARGIN
    }

    fn is_dark(&self, x: i32, y: i32) -> bool {
        self.0.get_module(x - MARGIN, y - MARGIN)
    }

    /// Draws the code with half blocks, for a terminal. With colours it is black on white; without, it is drawn for light text
    /// on a dark ground.
    pub fn terminal(&self, has_colours: bool) -> String {
        let mut text = String::new();
        for y in (0..self.size()).step_by(2) {
            if has_colours {
                text.push_str("\u{1b}[38;5;231;48;5;16m");
            }
            for x in 0..self.size() {
                text.push(match (self.is_dark(x, y), self.is_dark(x, y + 1) || y + 1 >= self.size()) {
                    (false, false) => '█',
                    (false, true) => '▀',
                    (true, false) => '▄',
                    (true, true) => ' ',
                });
            }
            text.push_str(if has_colours { "\u{1b}[0m\n" } else { "\n" });
        }
        text
    }

    /// The data of an SVG path that draws the dark modules, one unit each.
    pub fn svg_path(&self) -> String {
        let mut path = String::new();
        for y in 0..self.size() {
            for x in (0..self.size()).filter(|x| self.is_dark(*x, y)) {
                let _ = write!(path, "M{x} {y}h1v1h-1z");
            }
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_of_a_link_has_a_margin_and_the_same_modules_in_both_forms() {
        let link = format!("https://192.168.100.200:7431/pair?code={}", "a".repeat(64));
        let code = QrCode::new(&link).unwrap();
        let drawn = code.terminal(false);
        let lines: Vec<Vec<char>> = drawn.lines().map(|line| line.chars().collect()).collect();
        assert!(lines.iter().all(|line| line.len() == usize::try_from(code.size()).unwrap()) && code.size() < 60);
        assert!(lines[0].iter().chain(&lines[1]).all(|one| *one == '█'), "the margin is not light: {drawn}");
        let dark: usize = lines
            .iter()
            .flatten()
            .map(|one| match one {
                ' ' => 2,
                '▀' | '▄' => 1,
                _ => 0,
            })
            .sum();
        let below = if code.size() % 2 == 1 { lines[0].len() } else { 0 };
        assert_eq!(dark - below, code.svg_path().matches('M').count());
        assert!(code.terminal(true).starts_with("\u{1b}[") && QrCode::new(&"a".repeat(8_000)).is_none());
    }
}
