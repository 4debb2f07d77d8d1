//! Support for backend scripts, for tasks that are hard in shell: unpack a start configuration, run the program inside the
//! session, write the transcript, end the process tree. Works without a Fairway project.

pub mod commands;
mod control_socket;
mod copy_files;
mod fifo_input;
mod finish_start;
mod follow_transcript;
mod keyboard_control;
mod live_screen;
mod paste_submit;
pub mod probe_program;
mod process_match;
pub mod program_env;
mod pty_proxy;
mod run_program;
pub mod sanitize_paste;
pub mod screen_cells;
mod screen_replay;
pub mod server_address;
pub mod server_socket;
mod session_dir;
mod session_setup_commands;
mod session_values;
mod structured;
pub mod submit_text;
pub mod transcript;
pub mod transcript_screen;
mod transcript_writer;

pub use copy_files::copy_files;
pub use finish_start::{StartedPane, finish_start};
pub use follow_transcript::ReaderState;
pub use keyboard_control::send_input as have_typed;
pub use live_screen::LiveScreen;
pub use paste_submit::KeyboardInput;
pub use run_program::{IoMode, run_program, spawn_detached};
pub use server_address::{ServerAddress, SocketDir};
pub use session_dir::{INPUT_FIFO, SessionDir, StartFiles, StartState, TRANSCRIPT_FILE};
pub use session_setup_commands::SetupCommands;
pub use structured::{
    Canary, CanaryReport, Judgement, NoProject, SinkReply, StructuredSink, run_agent,
    send_request as send_structured_request,
};
pub use transcript_writer::TranscriptWriter;
