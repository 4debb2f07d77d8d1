//! A sandbox: the limits of what the programs of a session can reach. Its class is chosen by people; it does not depend on what
//! the programs do.

use super::string_enum::string_enum;

string_enum! {
    /// Whether the program of a session runs in a sandbox: without one, in namespaces of its own, or in what a program of the
    /// person's own makes.
    #[derive(Default)]
    SandboxClass { #[default] Off => "off", Namespace => "namespace", Command => "command" }
}

impl SandboxClass {
    /// Whether a program with this class has what `least` demands. The classes promise different things, so each satisfies only
    /// itself; `Off` demands nothing.
    pub fn satisfies(self, least: Self) -> bool {
        least == Self::Off || self == least
    }

    /// The class for work that needs what both classes promise. Of two different classes it is `Namespace`, whose promise is the
    /// more exact one.
    #[must_use]
    pub fn for_both(self, other: Self) -> Self {
        match (self, other) {
            (one, Self::Off) | (Self::Off, one) => one,
            (one, same) if one == same => one,
            _ => Self::Namespace,
        }
    }

    /// This class, or `least` when this one does not satisfy it.
    #[must_use]
    pub fn at_least(self, least: Self) -> Self {
        if self.satisfies(least) { self } else { least }
    }
}

string_enum! {
    /// The network of a sandbox: none but a loopback of its own, one with a proxy to hosts that are named, or that of the machine.
    #[derive(Default)]
    SandboxNetwork { #[default] None => "none", Proxy => "proxy", Open => "open" }
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
                assert_eq!(class.for_both(*least), least.for_both(*class));
                assert!(class.for_both(*least).satisfies(*least) || class.for_both(*least) == SandboxClass::Namespace);
            }
        }
    }
}
