//! Random bytes for secrets.

use std::fs::File;
use std::io::{self, Read};

use super::digest;

/// Random bytes from the kernel, suitable for secrets.
pub fn bytes<const COUNT: usize>() -> io::Result<[u8; COUNT]> {
    let mut bytes = [0; COUNT];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// 32 random bytes as lowercase hexadecimal.
pub fn hex() -> io::Result<String> {
    Ok(digest::hex(&bytes::<32>()?))
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
