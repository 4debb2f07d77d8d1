//! The filter of system calls of a sandbox. Programs inside share the person's terminal, so they must not type into it. The
//! kernel's keys belong to the user and not to a namespace.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::{AsRawFd, RawFd};

use nix::errno::Errno;
use nix::libc;
use nix::pty::openpty;
use nix::sys::memfd::{MFdFlags, memfd_create};

/// The processor's number in the kernel's audit interface.
#[cfg(target_arch = "x86_64")]
const PROCESSOR: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const PROCESSOR: u32 = 0xC000_00B7;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const PROCESSOR: u32 = 0;

/// Numbers from here on are those of another calling convention of the same processor (x32).
const FIRST_FOREIGN: u32 = 0x4000_0000;
/// The requests of `ioctl` that put characters into a terminal.
const TYPING: [u32; 2] = [0x5412, 0x541C];
/// The calls that use the kernel's keys.
const KEYS: [libc::c_long; 3] = [libc::SYS_add_key, libc::SYS_request_key, libc::SYS_keyctl];

// Instructions of the kernel's filter language.
const LOAD_WORD: u16 = 0x20;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;
const ALLOW: u32 = 0x7FFF_0000;
const DENY: u32 = 0x0005_0000 | Errno::EPERM as u32;
// Places in the description of a call.
const NUMBER: u32 = 0;
const PROCESSOR_OF_CALL: u32 = 4;
const SECOND_ARGUMENT: u32 = 24;

/// The instructions of the filter, in a file without a name that a child inherits.
#[derive(Debug)]
pub struct SyscallFilter {
    file: File,
}

impl SyscallFilter {
    /// Whether the filter is known for this processor.
    pub const IS_KNOWN: bool = PROCESSOR != 0;

    pub fn new() -> io::Result<Self> {
        // The next program must have it.
        let mut file = File::from(memfd_create(c"fairway-sandbox-filter", MFdFlags::empty())?);
        file.write_all(&instructions())?;
        file.rewind()?;
        Ok(Self { file })
    }

    pub fn descriptor(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

/// One instruction: a jump skips so many when the condition is true, or false.
struct Instruction(u16, u8, u8, u32);

fn instructions() -> Vec<u8> {
    let number = |call: libc::c_long| u32::try_from(call).unwrap_or(u32::MAX);
    let mut all = vec![
        Instruction(LOAD_WORD, 0, 0, PROCESSOR_OF_CALL),
        Instruction(JUMP_EQUAL, 1, 0, PROCESSOR),
        Instruction(RETURN, 0, 0, DENY),
        Instruction(LOAD_WORD, 0, 0, NUMBER),
        Instruction(JUMP_AT_LEAST, 0, 1, FIRST_FOREIGN),
        Instruction(RETURN, 0, 0, DENY),
    ];
    for call in KEYS {
        all.push(Instruction(JUMP_EQUAL, 0, 1, number(call)));
        all.push(Instruction(RETURN, 0, 0, DENY));
    }
    all.push(Instruction(JUMP_EQUAL, 1, 0, number(libc::SYS_ioctl)));
    all.push(Instruction(RETURN, 0, 0, ALLOW));
    all.push(Instruction(LOAD_WORD, 0, 0, SECOND_ARGUMENT));
    for request in TYPING {
        all.push(Instruction(JUMP_EQUAL, 0, 1, request));
        all.push(Instruction(RETURN, 0, 0, DENY));
    }
    all.push(Instruction(RETURN, 0, 0, ALLOW));
    let bytes = |Instruction(code, yes, no, value): &Instruction| {
        let mut bytes = code.to_ne_bytes().to_vec();
        bytes.extend([*yes, *no]);
        bytes.extend(value.to_ne_bytes());
        bytes
    };
    all.iter().flat_map(bytes).collect()
}

/// Asks the kernel to type a character into a new terminal. In a sandbox this must fail, because the filter denies it.
#[expect(unsafe_code, reason = "the request has no safe form in the crates used here")]
pub fn type_into_new_terminal() -> io::Result<()> {
    let terminal = openpty(None, None)?;
    let character = b'x';
    // SAFETY: the kernel reads one byte, which lives as long as the call.
    let done = unsafe { libc::ioctl(terminal.slave.as_raw_fd(), libc::TIOCSTI, &raw const character) };
    Errno::result(done)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The decision of the filter about a call, by the rules of the kernel's language.
    fn decide(processor: u32, number: u32, second: u32) -> u32 {
        let bytes = instructions();
        let all: Vec<&[u8]> = bytes.chunks(8).collect();
        let (mut at, mut word) = (0, 0);
        loop {
            let one = all[at];
            let value = u32::from_ne_bytes(one[4..8].try_into().unwrap());
            let jump = |is_true: bool| usize::from(if is_true { one[2] } else { one[3] });
            at += 1;
            match u16::from_ne_bytes(one[..2].try_into().unwrap()) {
                LOAD_WORD => {
                    word = match value {
                        NUMBER => number,
                        PROCESSOR_OF_CALL => processor,
                        SECOND_ARGUMENT => second,
                        other => panic!("{other}"),
                    };
                }
                JUMP_EQUAL => at += jump(word == value),
                JUMP_AT_LEAST => at += jump(word >= value),
                RETURN => return value,
                other => panic!("{other}"),
            }
        }
    }

    #[test]
    fn typing_and_keys_are_denied_and_the_rest_is_allowed() {
        let ioctl = u32::try_from(libc::SYS_ioctl).unwrap();
        assert_eq!(decide(PROCESSOR, ioctl, 0x5412), DENY);
        assert_eq!(decide(PROCESSOR, ioctl, 0x541C), DENY);
        assert_eq!(decide(PROCESSOR, ioctl, 0x5413), ALLOW);
        assert_eq!(decide(PROCESSOR, u32::try_from(libc::SYS_write).unwrap(), 0x5412), ALLOW);
        for call in KEYS {
            assert_eq!(decide(PROCESSOR, u32::try_from(call).unwrap(), 0), DENY);
        }
        assert_eq!(decide(PROCESSOR, FIRST_FOREIGN | ioctl, 0x5412), DENY);
        assert_eq!(decide(PROCESSOR ^ 1, ioctl, 0x5412), DENY);
    }
}
