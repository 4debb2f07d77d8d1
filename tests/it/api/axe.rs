//! The accessibility of the pages, as axe-core judges it, with the contrast of what axe does not measure: the borders of fields.

use std::path::Path;
use std::{env, fs};

use super::*;
use crate::common::require;
use crate::common::webdriver::Chromium;

/// The pages of the board.
const PAGES: [&str; 4] = ["/", "/tasks", "/review", "/usage"];

/// The violations of all rules, or of the one about contrast alone: that is what a theme changes.
const VIOLATIONS: &str = "const rules = contrastOnly ? { runOnly: { type: 'rule', values: ['color-contrast'] } } \
    : { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }; \
    return axe.run(document, { ...rules, resultTypes: ['violations'] }).then(({ violations }) => violations.map((one) => \
    `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html).join(' ')}`));";

/// The fields whose border has less than 3 : 1 against what is behind them.
const FAINT_FIELDS: &str = "
    const pixel = (colour) => {
      const canvas = document.createElement('canvas').getContext('2d');
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    const light = (colour) => [0.2126, 0.7152, 0.0722].reduce((sum, share, at) => sum + share * linear(colour[at] / 255), 0);
    const ground = (one) => {
      for (let at = one.parentElement; at; at = at.parentElement) {
        const colour = pixel(getComputedStyle(at).backgroundColor);
        if (colour[3] === 255) return colour;
      }
      return [255, 255, 255, 255];
    };
    const ratio = (one) => {
      const lights = [light(pixel(getComputedStyle(one).borderTopColor)), light(ground(one))].sort((a, b) => b - a);
      return (lights[0] + 0.05) / (lights[1] + 0.05);
    };
    return [...document.querySelectorAll('input, textarea, select, button, summary')]
      .filter((one) => one.checkVisibility() && parseFloat(getComputedStyle(one).borderTopWidth) > 0 && ratio(one) < 3)
      .map((one) => `${ratio(one).toFixed(2)} ${one.outerHTML}`);";

/// Refuses every violation on the pages of the board, with everything open that can be opened: in both themes, as wide as a phone and
/// as a screen. A page is loaded once.
pub(super) fn check(browser: &Chromium, origin: &str) {
    let Some(axe) = source() else { return };
    for page in PAGES {
        browser.open(&format!("{origin}{page}"));
        browser.run(&axe);
        browser.run("for (const one of document.querySelectorAll('details')) one.open = true");
        for (is_dark, width) in [(false, 1440), (false, 390), (true, 1440), (true, 390)] {
            browser.resize(width, 900);
            browser.set_dark(is_dark);
            let place = format!("{page}, {width} px, dark: {is_dark}");
            let found = browser.run(&format!("const contrastOnly = {is_dark}; {VIOLATIONS}"));
            assert_eq!(found, json!([]), "{place}");
            if width == 1440 {
                assert_eq!(browser.run(FAINT_FIELDS), json!([]), "{place}");
            }
        }
        browser.set_dark(false);
    }
}

/// The text of the version that `tests/axe.sh` installs; `None` where it is not there.
fn source() -> Option<String> {
    let home = env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or(home)?;
    let file = cache.join("fairway-tests/axe-core-4.14.1/node_modules/axe-core/axe.min.js");
    let reason = format!("axe-core is not installed as {}; tests/run.sh installs it", file.display());
    require::met(file.is_file(), reason).then(|| fs::read_to_string(file).unwrap())
}
