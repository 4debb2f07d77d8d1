//! Settings: where the project is, what its file says, and where each value came from.

mod agent_proof;
mod agents;
mod error;
mod forge;
mod guard;
mod in_force;
mod keys;
mod landing;
mod lanes;
mod launch;
mod layers;
mod notify;
mod problems;
pub mod project;
mod provider_profile;
mod review;
mod sandbox;
mod schema;
mod section;
mod sections;
mod serve;
mod set_key;
mod settings;
mod store;
pub mod trust;
mod trust_record;
mod values;

pub use agent_proof::{AgentProof, AgentSetup, newest_proof, refute_proofs};
pub use agents::{AgentSettings, BudgetSettings, HookSettings, IdentitySettings, Unguarded};
pub use error::ConfigError;
pub use forge::ForgeSettings;
pub use in_force::{check_text, load_in_force};
pub use keys::{KEYS, example};
pub use landing::LandSettings;
pub use lanes::{LaneSettings, PortRange};
pub use launch::{
    Backend, Permission, ProgramSettings, ProviderSettings, RoleSettings, SessionMode, Setup, SetupSettings,
};
pub use layers::{Layers, SourcedValue, local_file};
pub use notify::{NotifySettings, OneSink, SinkSettings};
pub use problems::all as all_problems;
pub use project::{CONFIG_FILE, Project};
pub use provider_profile::{
    AcpProfile, DialogProfile, LimitProfile, ProviderProfile, built_in as built_in_profiles, session_variables,
};
pub use review::{ConsequenceRule, ReviewSettings, built_in_consequences};
pub use sandbox::{ProviderState, SandboxSettings, sandbox_defaults};
pub use schema::{SCHEMA_FILE, schema};
pub use section::{Form, Key};
pub use sections::{
    CheckSettings, ClaimSettings, JobSettings, OverlapAction, OverlapSettings, ProjectSettings, ReviewRoute,
    SessionSettings, TaskSettings, parse_size,
};
pub use serve::ServeSettings;
pub use set_key::set_key;
pub use settings::Settings;
pub use store::{StoreEngine, StoreSettings, check_scheme, has_password, masked_url, without_password};
pub use values::{parse_duration, show_duration};
