//! A start configuration for display.

use crate::adapters::StartConfig;
use crate::domain::secrets;

/// A copy of a start configuration in which everything that looks like a secret is masked.
pub fn redacted(start: &StartConfig) -> StartConfig {
    let mask = |text: &String| secrets::mask(text);
    let masked = |texts: &[String]| texts.iter().map(mask).collect::<Vec<_>>();
    let env = start
        .env
        .as_ref()
        .map(|env| env.iter().map(|(name, value)| (name.clone(), secrets::mask_value(name, value))).collect());
    StartConfig {
        command: start.command.as_ref().map(mask),
        argv: start.argv.as_deref().map(masked),
        env,
        nudge: start.nudge.as_ref().map(mask),
        pre_start: start.pre_start.as_deref().map(masked),
        session_setup: start.session_setup.as_deref().map(masked),
        session_live: start.session_live.as_deref().map(masked),
        ..start.clone()
    }
}
