//! The files that a command writes or runs as its program, and programs under another name.

use std::rc::Rc;

use super::ShellAnalysis;
use super::arg::{Arg, Expansion, base_name};
use super::conventions::changes_files;
use super::nested_shell::is_setting_of_git;
use super::program_lists::CONTENT_WRITERS;
use super::working_dir::Place;
use super::written_words::written_words;

impl ShellAnalysis {
    /// Notes the files that a command writes, and those that it runs by convention, such as a `Makefile`.
    pub(super) fn note_written_files(&mut self, name: &str, argv: &[Arg]) {
        let words = || argv.iter().skip(1).filter(|word| !word.head().starts_with('-'));
        self.files.changes += usize::from(!self.is_tentative && changes_files(name, argv));
        match name {
            // A copy keeps its name in a directory, and a program under another name is that program still.
            "cp" | "mv" | "ln" | "install" => {
                let known: Vec<Arg> = words().cloned().collect();
                for word in &known {
                    self.note_written_file(word);
                }
                self.note_renamed_programs(&known);
                // A file below a link that leads elsewhere is not written here.
                let leads = |word: &Arg| word.head().starts_with(['/', '~']) || word.head().starts_with("..");
                // A link that is not there yet is no directory to come back from.
                if name == "ln" && (known.iter().rev().skip(1).any(leads) || self.text.contains("/..")) {
                    self.place = Rc::new(Place::lost());
                }
            }
            "git" if argv.iter().any(|word| word.text() == Some("mv")) => {
                words().for_each(|word| self.note_written_file(word));
            }
            "make" | "gmake" => {
                for file in ["Makefile", "makefile", "GNUmakefile"] {
                    self.files.executed.insert(file.to_owned());
                }
                words().for_each(|word| self.note_run_file(word));
            }
            "just" => {
                self.files.executed.insert("justfile".to_owned());
            }
            "npm" | "pnpm" | "yarn" | "bun" => {
                self.files.executed.insert("package.json".to_owned());
            }
            "run-parts" => self.note_run_unknown(),
            // A file that they edit and that the text runs is the everyday case, unlike git's settings before a push.
            "sed" | "gsed" | "ssed" | "perl" | "ruby" | "awk" | "gawk" | "yq" => {
                let edits = !self.is_tentative && written_words(argv).iter().any(is_setting_of_git);
                self.files.writes_git |= edits;
            }
            _ if CONTENT_WRITERS.contains(&name) => {
                // The name of what is fetched may be the address's own.
                let is_named_by_address = matches!(name, "curl" | "wget");
                let more =
                    words().filter(|_| is_named_by_address || matches!(name, "rename" | "rsync" | "scp")).cloned();
                for word in written_words(argv).into_iter().chain(more) {
                    self.note_written_file(&word);
                }
                self.files.writes_unknown |= matches!(name, "split" | "csplit" | "patch");
            }
            _ => {}
        }
    }

    /// Programs that are linked, copied or moved: called by their new name they do the same.
    fn note_renamed_programs(&mut self, words: &[Arg]) {
        for word in words {
            let program = match word {
                Arg::Known(text) => Some(base_name(text).to_owned()),
                // `$(which git)`
                Arg::Unknown { form: Expansion::One | Expansion::Any, head, tail, .. }
                    if head.is_empty() && tail.is_empty() =>
                {
                    None
                }
                Arg::Unknown { tail, .. } => Some(base_name(tail).to_owned()),
            };
            match program {
                Some(program) if !program.is_empty() && self.is_path_of_program(word, &program) => {
                    self.add_command(vec![Arg::known(program), Arg::anything()], false);
                }
                _ => {}
            }
        }
    }

    fn is_path_of_program(&self, word: &Arg, program: &str) -> bool {
        let head = word.head();
        head.starts_with('/')
            && (head.contains("/bin/")
                || head.contains("/sbin/")
                || head.contains("/libexec/")
                || head.contains("git-core"))
            && head.ends_with(program)
    }
}
