//! Random bytes for secrets.

use std::{
    fmt::Write as _,
    fs::File,
    io::{self, Read},
};

/// Random bytes.
pub fn bytes<const COUNT: usize>() -> io::Result<[u8; COUNT]> {
    let mut bytes = [0; COUNT];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// 32 random bytes as lowercase hexadecimal.
pub fn hex() -> io::Result<String> {
    Ok(bytes::<32>()?.iter().fold(String::new(), |mut text, byte| {
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
