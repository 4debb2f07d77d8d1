//! What a script may ask about a session.

use crate::domain::closed_set::closed_set;

closed_set! {
    /// A fact about a session: its folder (what the script keeps there goes with the session), the state folder, its name as a
    /// word of letters, digits, `_`, `-` and `%` that is unique there, its transcript's file, its terminal's height and
    /// width, its run, and whether its root process lives.
    Field {
        Folder => "folder",
        State => "state",
        Token => "token",
        Transcript => "transcript",
        Rows => "rows",
        Cols => "cols",
        Run => "run",
        Alive => "alive",
    }
}
