//! The options of the commands that make a sandbox.

use crate::{
    cli::values,
    domain::{
        id::Label,
        sandbox::{SandboxClass, SandboxNetwork},
    },
};

/// The network inside.
#[derive(Debug, clap::Args)]
pub(super) struct Network {
    /// Network: none, proxy or open [default: sandbox.network]
    #[arg(long, value_name = "WHICH", value_parser = values::sandbox_network)]
    pub network: Option<SandboxNetwork>,
}

/// What is open beside the lane.
#[derive(Debug, clap::Args)]
pub(super) struct Opened {
    /// Class: namespace or command [default: sandbox.class]
    #[arg(long, value_name = "CLASS", value_parser = values::sandbox_class)]
    pub class: Option<SandboxClass>,
    #[command(flatten)]
    pub network: Network,
    /// Agent whose state in your home is open
    #[arg(long, value_name = "NAME", value_parser = values::label)]
    pub provider: Option<Label>,
}
