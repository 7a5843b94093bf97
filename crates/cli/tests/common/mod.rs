//! Runs the built command in a folder of its own.
#![allow(dead_code, reason = "every test file uses a part of it")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A folder that goes when the test does.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("deepgp-cli-{name}-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> &Self {
        std::fs::write(self.path(name), bytes).expect("written");
        self
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// Names of the files, sorted.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(&self.0)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_deepgp"));
        command.current_dir(&self.0).args(words(line));
        command
    }

    /// Runs `deepgp LINE` in the folder; blanks separate arguments, single quotes keep them together.
    pub fn run(&self, line: &str) -> Done {
        self.run_with(line, "")
    }

    pub fn run_with(&self, line: &str, input: &str) -> Done {
        finish(self.command(line), line, input)
    }

    /// Runs it with variables set.
    pub fn run_in(&self, line: &str, variables: &[(&str, &str)]) -> Done {
        let mut command = self.command(line);
        command.envs(variables.iter().copied());
        finish(command, line, "")
    }
}

fn finish(mut command: Command, line: &str, input: &str) -> Done {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command");
    // It may end without reading.
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    let done = child.wait_with_output().expect("its end");
    Done {
        line: line.to_owned(),
        code: done.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&done.stdout).into_owned(),
        err: String::from_utf8_lossy(&done.stderr).into_owned(),
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What a command did.
#[derive(Debug)]
pub struct Done {
    pub line: String,
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Done {
    /// It went well.
    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{self:#?}");
        assert!(!self.err.contains("panicked"), "{self:#?}");
        self
    }

    /// The one JSON object on standard output.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        assert_eq!(self.out.trim_end().lines().count(), 1, "{self:#?}");
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {self:#?}"))
    }

    /// The one line of its complaint.
    #[track_caller]
    pub fn complaint(&self) -> &str {
        assert!(!self.err.contains("panicked"), "{self:#?}");
        assert_eq!(self.err.lines().count(), 1, "{self:#?}");
        self.err.trim_end().strip_prefix("deepgp: ").unwrap_or_else(|| panic!("{self:#?}"))
    }
}

fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted, mut any) = (Vec::new(), String::new(), false, false);
    for c in line.chars() {
        match c {
            '\'' => (quoted, any) = (!quoted, true),
            ' ' if !quoted => {
                if any || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                any = false;
            }
            c => word.push(c),
        }
    }
    if any || !word.is_empty() {
        words.push(word);
    }
    words
}

/// A small table of two numbers, a category and a target.
pub fn homes(rows: usize) -> String {
    let mut text = "area,rooms,town,price\n".to_owned();
    for i in 0..rows {
        let (area, rooms) = (50 + (i * 37) % 100, 1 + (i * 7) % 5);
        let town = ["Ulm", "Bern", "Graz"][i % 3];
        let price = 2.0 * area as f64 + 10.0 * rooms as f64 + (i % 3) as f64 * 20.0 + ((i * i) as f64).sin();
        text += &format!("{area},{rooms},{town},{price}\n");
    }
    text
}

/// Options of a fit that takes no time.
pub const QUICK: &str = "--inducing 6 --iters 30 --batch 20";

/// A folder with `homes.csv` and a model of it, `model.deepgp`.
pub fn with_model(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("homes.csv", homes(120));
    folder.run(&format!("fit homes.csv --target price --quiet {QUICK}")).ok();
    folder
}

/// Whether permissions mean nothing here.
pub fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().any(|line| line.starts_with("Uid:") && line.split_whitespace().nth(2) == Some("0"))
}

pub fn exists(path: &str) -> bool {
    Path::new(path).exists()
}
