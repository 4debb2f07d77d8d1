//! `fairway top`: frames of a project in which something of everything goes on, and the program in a real terminal.

mod frames;
mod hung;
mod in_tmux;
mod keys;
mod pictures;
mod tmux;
