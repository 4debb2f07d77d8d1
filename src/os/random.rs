//! Random bytes for secrets.

use std::{
    fmt::Write as _,
    fs::File,
    io::{self, Read},
};

/// 32 random bytes as lowercase hexadecimal.
pub fn hex() -> io::Result<String> {
    let mut bytes = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_random_values_differ() {
        let (one, two) = (hex().unwrap(), hex().unwrap());
        assert_eq!((one.len(), two.len()), (64, 64));
        assert_ne!(one, two);
    }
}
