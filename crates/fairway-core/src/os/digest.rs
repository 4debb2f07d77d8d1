//! Digests as text.

use std::io::{self, Read};

use sha2::{Digest, Sha256};

pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The digest of everything that is still to be read.
pub fn sha256_hex_of(mut from: impl Read) -> io::Result<String> {
    let (mut digest, mut bytes) = (Sha256::new(), vec![0; 64 * 1024]);
    loop {
        match from.read(&mut bytes) {
            Ok(0) => return Ok(hex(&digest.finalize())),
            Ok(count) => digest.update(bytes.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Bytes as lowercase hexadecimal, two digits for each.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)]);
        text.push(DIGITS[usize::from(byte & 15)]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_of_known_bytes_is_lowercase_hexadecimal() {
        assert_eq!(sha256_hex(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(hex(&[0, 0xff]), "00ff");
    }
}
