//! Numbers of bytes as people read them: `12 KiB`.

/// Formats a number of bytes, rounded down.
pub fn show(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let unit = UNITS.iter().enumerate().rev().find(|(power, _)| bytes >> (10 * power) > 0);
    let (power, name) = unit.map_or((0, "bytes"), |(power, name)| (power, *name));
    format!("{} {name}", bytes >> (10 * power))
}
