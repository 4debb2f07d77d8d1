//! The use cases through the library, without a process.

use std::path::Path;
use std::rc::Rc;

use fairway_actions::App;
use fairway_core::config::{Layers, Project, Settings};
use fairway_core::domain::{Actor, SessionId};
use fairway_core::env::Env;

/// The context of a use case in the project at this root, with its own configuration.
pub fn app(root: &Path, env: Env, actor: Actor) -> App {
    let project = Project::at(root.to_owned(), &env);
    let layers = Layers::load(&project, &env).unwrap();
    let settings = Settings::from_layers(&layers, &project).unwrap();
    App::new(Rc::new(env), project, layers, settings, actor, None)
}

/// An actor of this name without a session.
pub fn person(name: &str) -> Actor {
    Actor { name: name.to_owned(), session: None, run_id: None, role: None, lane: None, epoch: None }
}

/// The session of this id as an actor.
pub fn session(id: &str) -> Actor {
    Actor { session: Some(SessionId::parse(id).unwrap()), ..person(id) }
}
