//! A sandbox: what the programs of a session can reach. Which one there is, is chosen; nothing here depends on what they do.

use super::string_enum::string_enum;

string_enum! {
    /// Whether the program of a session runs in a sandbox: without one, or in namespaces of its own.
    #[derive(Default)]
    SandboxClass { #[default] Off => "off", Namespace => "namespace" }
}

impl SandboxClass {
    /// Whether a program with this one also has the `least` that is demanded: two classes promise different things, so that only
    /// none demands nothing.
    pub fn satisfies(self, least: Self) -> bool {
        least == Self::Off || self == least
    }

    /// This one, unless it is less than what is demanded.
    #[must_use]
    pub fn at_least(self, least: Self) -> Self {
        if self.satisfies(least) { self } else { least }
    }
}

string_enum! {
    /// The network of a sandbox: none but a loopback of its own, or that of the machine.
    #[derive(Default)]
    SandboxNetwork { #[default] None => "none", Open => "open" }
}

#[cfg(test)]
mod tests {
    use super::SandboxClass;

    #[test]
    fn each_class_satisfies_itself_and_none_alone() {
        for class in SandboxClass::ALL {
            for least in SandboxClass::ALL {
                let is_enough = *least == SandboxClass::Off || class == least;
                assert_eq!(class.satisfies(*least), is_enough);
                assert_eq!(class.at_least(*least), if is_enough { *class } else { *least });
            }
        }
    }
}
