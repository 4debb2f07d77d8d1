//! A plot of bars as SVG. Its numbers stand in a table beside it.

use super::html::Html;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 120.0;
/// Room for the days below the bars, and for the largest number above them.
const MARGIN: f64 = 16.0;
/// Below every so many bars stands a label at most.
const MAX_LABELS: usize = 8;

/// A bar.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bar {
    pub(super) label: String,
    pub(super) value: f64,
    /// The value in words.
    pub(super) text: String,
}

/// Draws a plot with this title.
#[expect(clippy::cast_precision_loss, reason = "a number of bars is small")]
pub(super) fn draw(html: &mut Html, title: &str, bars: &[Bar]) {
    let max = bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
    let largest = bars.iter().find(|bar| bar.value >= max).filter(|_| max > 0.0);
    let slot = WIDTH / bars.len().max(1) as f64;
    let every = bars.len().div_ceil(MAX_LABELS).max(1);
    html.markup("<svg class=\"plot\" viewBox=\"0 0 720 152\" role=\"img\"").attribute("aria-label", title).markup(">");
    for (place, bar) in bars.iter().enumerate() {
        let height = if max > 0.0 { bar.value / max * HEIGHT } else { 0.0 };
        let x = slot * place as f64;
        let number = |number: f64| format!("{number:.1}");
        html.markup("<rect").attribute("x", &number(x + slot * 0.15)).attribute("y", &number(MARGIN + HEIGHT - height));
        html.attribute("width", &number(slot * 0.7)).attribute("height", &number(height)).markup("><title>");
        html.text(&format!("{}: {}", bar.label, bar.text)).markup("</title></rect>");
        if place % every == 0 {
            html.markup("<text").attribute("x", &number(x + slot / 2.0)).markup(" y=\"149\" text-anchor=\"middle\">");
            html.text(&bar.label).markup("</text>");
        }
    }
    html.markup("<line x1=\"0\" x2=\"720\" y1=\"136\" y2=\"136\"></line>");
    if let Some(largest) = largest {
        html.markup("<text x=\"0\" y=\"11\">")
            .text(&format!("most: {} on {}", largest.text, largest.label))
            .markup("</text>");
    }
    html.markup("</svg>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn highest_bar_fills_the_plot_and_nothing_divides_by_zero() {
        let bar = |label: &str, value: f64| Bar { label: label.into(), value, text: format!("${value}") };
        let mut html = Html::default();
        draw(&mut html, "cost", &[bar("1", 1.0), bar("2", 2.0)]);
        let html = html.into_string();
        assert!(html.contains("height=\"60.0\"") && html.contains("height=\"120.0\""), "{html}");
        assert!(html.contains("most: $2 on 2"), "{html}");
        for bars in [&[][..], &[bar("1", 0.0)]] {
            let mut html = Html::default();
            draw(&mut html, "cost", bars);
            assert!(!html.as_str().contains("NaN") && !html.as_str().contains("inf"), "{html:?}");
        }
    }
}
