//! Settings: where the project is, what its file says, and where each value came from.

mod agent_proof;
mod agents;
mod backend;
mod duration;
mod error;
mod guard;
mod in_force;
mod jobs;
mod keys;
mod landing;
mod launch;
mod layers;
mod notify;
mod overlap;
mod problems;
pub mod project;
mod provider_profile;
mod review;
mod sandbox;
mod schema;
mod set_key;
mod settings;
mod store;
mod structured;
pub mod trust;
mod trust_record;
mod values;

pub use agent_proof::{AgentProof, AgentSetup, newest_proof};
pub use agents::{ContextSettings, HookSettings, IdentitySettings};
pub use backend::{Backend, Setup};
pub use duration::{format as show_duration, parse as parse_duration};
pub use error::ConfigError;
pub use in_force::{check_text, load_in_force};
pub use jobs::{JobSettings, parse_bytes as parse_size};
pub use keys::{KEYS, Key, example};
pub use landing::LandSettings;
pub use launch::{LaunchSettings, ProgramSettings};
pub use layers::{Layers, SourcedValue, local_file};
pub use notify::{NotifySettings, SinkSettings};
pub use overlap::{ClaimOrder, OverlapAction, OverlapSettings};
pub use problems::all as all_problems;
pub use project::{CONFIG_FILE, Project};
pub use provider_profile::{ProviderProfile, built_in as built_in_profiles, session_variables};
pub use review::{ConsequenceRule, ReviewSettings, built_in_consequences};
pub use sandbox::{SandboxSettings, sandbox_defaults};
pub use schema::{SCHEMA_FILE, schema};
pub use set_key::set_key;
pub use settings::{
    ApprovalSettings, ClaimSettings, ProjectSettings, ReviewRoute, SessionSettings, Settings, TaskSettings,
};
pub use store::{StoreEngine, StoreSettings, has_password, masked_url, without_password};
pub use structured::{AcpProfile, AgentSettings, SessionMode, Unguarded};
pub use values::StaleAfter;
