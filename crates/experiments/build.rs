//! Tells the program which commit it was built from, for its records.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Sources that are not under version control, or under that of another project, have no commit.
    if git(&["ls-files", "--error-unmatch", "build.rs"]).is_none() {
        return;
    }
    for name in ["HEAD", "logs/HEAD"] {
        // A file that is missing would run this again with every build.
        if let Some(path) = git(&["rev-parse", "--git-path", name]).filter(|path| Path::new(path).exists()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    if let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) {
        println!("cargo::rustc-env=DEEPGP_COMMIT={commit}");
    }
}

/// What git prints in this folder, unless it fails or is not there.
fn git(args: &[&str]) -> Option<String> {
    let done = Command::new("git").args(args).output().ok().filter(|done| done.status.success())?;
    let text = String::from_utf8(done.stdout).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}
