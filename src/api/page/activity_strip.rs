//! What a session did when, as a strip: one piece for each stretch, told apart by colour and pattern, with the sums in words.

use super::html::Html;
use fairway_actions::sessions::activity_history::Stretch;
use fairway_core::domain::age::rough;
use fairway_core::domain::session::Activity;
use fairway_core::env::Timestamp;

const WIDTH: f64 = 720.0;

/// A kind of stretch: its word, its style class, and its fill.
type Kind = (&'static str, &'static str, &'static str);

const WORKING: Kind = ("working", "working", "currentColor");
const WAITING: Kind = ("waiting for a person", "waiting", "url(#strip-waiting)");
const IDLE: Kind = ("idle", "idle", "url(#strip-idle)");
const UNKNOWN: Kind = ("not reported", "unknown", "none");

const fn kind_of(activity: Activity) -> Kind {
    match activity {
        Activity::Busy => WORKING,
        Activity::RequiresAction => WAITING,
        Activity::Idle | Activity::Stopping => IDLE,
        Activity::Unknown => UNKNOWN,
    }
}

/// Adds the fill patterns that the strips of a page use. A page needs them once, before its first strip.
pub(super) fn patterns(html: &mut Html) {
    html.markup(
        "<svg class=\"patterns\" width=\"0\" height=\"0\" aria-hidden=\"true\"><defs>\
         <pattern id=\"strip-waiting\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\
         <rect width=\"3\" height=\"6\"></rect></pattern>\
         <pattern id=\"strip-idle\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">\
         <rect width=\"1.5\" height=\"1.5\" x=\"2\" y=\"2\"></rect></pattern></defs></svg>",
    );
}

/// Draws the activity of one session over time. Each stretch is a rectangle as wide as its share of the time. Draws nothing
/// without stretches.
#[expect(clippy::cast_precision_loss, reason = "milliseconds of a session are far below 2^52")]
pub(super) fn draw(html: &mut Html, session: &str, stretches: &[Stretch]) {
    let (Some(first), Some(last)) = (stretches.first(), stretches.last()) else { return };
    let millis = |from: Timestamp, to: Timestamp| (to.millis() - from.millis()).max(0) as f64;
    let all = millis(first.since, last.until).max(1.0);
    let words = sums(stretches);
    html.markup("<p class=\"facts\">").text(session).markup(" ").text(&words).markup("</p>");
    html.markup("<svg class=\"strip\" viewBox=\"0 0 720 16\" preserveAspectRatio=\"none\" role=\"img\"");
    html.attribute("aria-label", &format!("{session}: {words}")).markup(">");
    for one in stretches {
        let (word, class, fill) = kind_of(one.activity);
        let x = millis(first.since, one.since) / all * WIDTH;
        // Even a short stretch must be visible.
        let width = (millis(one.since, one.until) / all * WIDTH).max(1.0);
        html.markup("<rect y=\"0\" height=\"16\"").attribute("class", class).attribute("fill", fill);
        html.attribute("x", &format!("{x:.1}")).attribute("width", &format!("{width:.1}")).markup("><title>");
        html.text(&format!("{word} {}, since {}", rough(one.until.since(one.since)), one.since.local_time()));
        html.markup("</title></rect>");
    }
    html.markup("</svg>");
}

/// How long each kind lasted in all.
fn sums(stretches: &[Stretch]) -> String {
    let sum = |kind: Kind| {
        let of_kind = stretches.iter().filter(|one| kind_of(one.activity) == kind);
        of_kind.map(|one| one.until.since(one.since)).sum::<std::time::Duration>()
    };
    let parts = [WORKING, WAITING, IDLE, UNKNOWN].map(|kind| (kind.0, sum(kind)));
    let parts = parts.into_iter().filter(|(_, span)| !span.is_zero());
    parts.map(|(word, span)| format!("{word} {}", rough(span))).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_fill_the_strip_and_are_summed_in_words() {
        let at = |minute: i64| Timestamp::from_millis(minute * 60_000);
        let stretch = |activity, since, until| Stretch { activity, since: at(since), until: at(until) };
        let mut html = Html::default();
        draw(
            &mut html,
            "ada",
            &[
                stretch(Activity::Busy, 0, 30),
                stretch(Activity::RequiresAction, 30, 45),
                stretch(Activity::Busy, 45, 60),
            ],
        );
        let html = html.into_string();
        assert!(html.contains("aria-label=\"ada: working 45m, waiting for a person 15m\""), "{html}");
        assert!(html.contains("class=\"waiting\" fill=\"url(#strip-waiting)\" x=\"360.0\" width=\"180.0\""), "{html}");
        let mut none = Html::default();
        draw(&mut none, "ada", &[]);
        assert_eq!(none.as_str(), "");
    }
}
