//! Errors of the command line and the exit codes they lead to.

use anyhow::anyhow;
use deepgp_fit::{Error, OutputError, SettingsError};
use std::fmt::{self, Display, Formatter};

/// All went well.
pub const SUCCESS: u8 = 0;
/// Something went wrong with data, files or numbers.
pub const FAILURE: u8 = 1;
/// The command was not understood or asks for what cannot be.
pub const USAGE: u8 = 2;
/// Stopped by a signal after all was saved; as shells report an interrupt.
pub const INTERRUPTED: u8 = 130;

/// The command asks for what cannot be; exit code 2.
#[derive(Debug)]
pub struct Usage(pub String);

impl Display for Usage {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// A [`Usage`] error from a format string.
macro_rules! usage {
    ($($arg:tt)*) => { anyhow::Error::new($crate::exit_codes::Usage(format!($($arg)*))) };
}
pub(crate) use usage;

/// Settings that cannot be, in the words of the command line.
pub fn usage_of(error: SettingsError) -> anyhow::Error {
    match error {
        SettingsError::OutOfRange { name, must } => usage!("--{name} must {must}"),
        SettingsError::NoTable => usage!("{error}; try: deepgp fit data.csv --target COLUMN"),
        SettingsError::NoTarget => usage!("{error}; name one with --target"),
        SettingsError::NothingToRecalibrateBy => usage!("--recalibrate needs held-out rows, and --valid is 0"),
        _ => usage!("{error}"),
    }
}

/// What went wrong with a fit, in the words of the command line.
pub fn in_words(error: Error) -> anyhow::Error {
    match error {
        Error::Settings(error) => usage_of(error),
        Error::StoredSettings { path, source } => {
            usage_of(source).context(format!("{} makes no sense", path.display()))
        }
        Error::Output(error @ OutputError::Folder(_)) => anyhow!("{error}; name a file with --out"),
        Error::Output(error @ OutputError::NotAModel(_)) => anyhow!("{error}; choose another --out, or remove it"),
        Error::Output(error @ OutputError::ReadOnly(_)) => anyhow!("{error}; choose another --out"),
        error => error.into(),
    }
}

/// Tells the user, in one line on standard error, and says how to exit.
pub fn exit(error: &anyhow::Error) -> u8 {
    if is_broken_pipe(error) {
        // Whoever reads our output has seen enough.
        return SUCCESS;
    }
    print_error(&format!("{error:#}"));
    if error.chain().any(|cause| cause.is::<Usage>()) { USAGE } else { FAILURE }
}

/// One line on standard error; there is nobody to tell if that fails.
pub fn print_error(message: &str) {
    use std::io::Write;
    let line: String = message.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let _ = writeln!(std::io::stderr(), "deepgp: {}", line.trim_end());
}

/// Whether the error is that nobody reads standard output any more, as after `| head`.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let is_pipe = |cause: &std::io::Error| cause.kind() == std::io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref::<std::io::Error>().is_some_and(is_pipe))
}
