//! Links the program at a fixed address, where the system's own linker makes it. At an address that differs from start to start
//! the loader writes half a megabyte of pointers each time, which is a third of the time of a short command.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "cargo asks by the environment, and is answered on stdout"
)]

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |key, value: &str| env::var(key).is_ok_and(|found| found.split(',').any(|one| one == value));
    let is_gnu = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    // A static build is told by its flags: the kind of a static program cannot be changed at its end.
    if is_gnu && !is("CARGO_CFG_TARGET_FEATURE", "crt-static") {
        for kind in ["bins", "examples"] {
            println!("cargo::rustc-link-arg-{kind}=-no-pie");
        }
    }
}
