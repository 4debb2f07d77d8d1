//! Names the sandbox that most likely forbids an agent to write the store, and the arguments that allow it.

use fairway_core::adapters::builtin_scripts;
use fairway_core::config::{built_in_profiles, session_variables};
use fairway_core::env::{Env, vars};
use fairway_core::wire::Failure;

/// Adds a hint to a `store_read_only` failure: the arguments that let the agent's sandbox write to the store's directory, or for a
/// structured agent that it may leave its sandbox.
/// Returns the failure unchanged when it has another code, when no agent started this process, or when the profile of the
/// agent's provider has no such arguments.
pub(super) fn with_sandbox(failure: Failure, env: &Env) -> Failure {
    if failure.code != "store_read_only" {
        return failure;
    }
    let Some(dir) = failure.details["directory"].as_str() else { return failure };
    let of_variable = || session_variables().find(|(_, name)| env.var(name).is_some()).map(|(provider, _)| provider);
    let Some(provider) = env.var(vars::FAIRWAY_PROVIDER).or_else(of_variable) else { return failure };
    let Some(arguments) = built_in_profiles().remove(provider).and_then(|profile| profile.facts.writable_args) else {
        return failure;
    };
    let message = format!("{} (probably forbidden by the sandbox of {provider})", failure.message);
    if env.var(vars::FAIRWAY_BACKEND) == Some(builtin_scripts::STRUCTURED) {
        // Its mode that asks allows no directory, but asks for a run outside of the sandbox.
        let hint = "ask to run the same command outside of your sandbox: Fairway's own commands need no person there";
        return Failure { message, hint: Some(hint.to_owned()), ..failure };
    }
    let list = serde_json::json!([dir]).to_string();
    let filled = arguments.iter().map(|argument| argument.replace("{dirs}", &list).replace("{dir}", dir));
    let arguments = shell_words::join(filled);
    Failure {
        message,
        hint: Some(format!("start the agent with this directory in its sandbox: {provider} {arguments}")),
        ..failure
    }
}
