//! `fairway top`: frames of a project in which something of everything goes on, and the program in a real terminal.

mod cells;
mod frames;
mod in_tmux;
mod keys;
mod pictures;
mod stuck_terminal;
mod tmux;
