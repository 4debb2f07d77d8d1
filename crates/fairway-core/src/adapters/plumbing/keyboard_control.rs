//! Input for a session's terminal, as requests to its control socket. The reply comes when the input was typed.

use std::io;

use super::SessionDir;
use super::control_socket::{self, ControlRequest};
use super::paste_submit::KeyboardInput;

const TEXT_TAG: u8 = b't';
const KEYS_TAG: u8 = b'k';
const PASTE_TAG: u8 = b'p';

impl ControlRequest for KeyboardInput {
    const SOCKET_NAME: &'static str = "door";
    const MAX_REQUEST_BYTES: usize = 16 << 20;
    const NOUN: &'static str = "input";

    fn encode(&self) -> (u8, Vec<u8>) {
        match self {
            Self::Text(text) => (TEXT_TAG, text.clone()),
            Self::Paste(text) => (PASTE_TAG, text.clone()),
            Self::Keys(keys) => (KEYS_TAG, keys.join("\0").into_bytes()),
        }
    }

    fn decode(tag: u8, text: &[u8]) -> Option<Self> {
        match tag {
            TEXT_TAG => Some(Self::Text(text.to_vec())),
            PASTE_TAG => Some(Self::Paste(text.to_vec())),
            KEYS_TAG => {
                let keys = text.split(|byte| *byte == 0).map(|key| String::from_utf8_lossy(key).into_owned());
                Some(Self::Keys(keys.collect()))
            }
            _ => None,
        }
    }
}

/// Types input into a session and waits until it was typed. A session that does not exist is no error.
pub fn send_input(dir: &SessionDir, input: &KeyboardInput) -> io::Result<()> {
    control_socket::send_request(dir, input)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_is_read_back_as_it_was_sent() {
        for input in [
            KeyboardInput::Text(b"a\0\xff".to_vec()),
            KeyboardInput::Paste(Vec::new()),
            KeyboardInput::Keys(vec!["C-c".into(), "Enter".into()]),
        ] {
            let (tag, text) = input.encode();
            assert_eq!(KeyboardInput::decode(tag, &text), Some(input));
        }
        assert_eq!(KeyboardInput::decode(b'x', b""), None);
    }
}
