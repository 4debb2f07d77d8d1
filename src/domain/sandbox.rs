//! A sandbox: what the programs of a session can reach. Which one there is, is chosen; nothing here depends on what they do.

use super::string_enum::string_enum;

string_enum! {
    /// Whether the program of a session runs in a sandbox: without one, or in namespaces of its own.
    #[derive(Default)]
    SandboxClass { #[default] Off => "off", Namespace => "namespace" }
}

string_enum! {
    /// The network of a sandbox: none but a loopback of its own, or that of the machine.
    #[derive(Default)]
    SandboxNetwork { #[default] None => "none", Open => "open" }
}
