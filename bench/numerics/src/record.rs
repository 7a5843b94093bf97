//! One JSON line for each comparison, and the tables.

use crate::turns::{Outcome, Task, turns};
use std::fmt::Write as _;

/// What was compared, and what came out.
struct Entry {
    operation: String,
    size: String,
    peer: &'static str,
    ours: f64,
    theirs: f64,
    /// Quartiles of theirs by ours.
    ratio: [f64; 3],
    /// `"name":value` pairs that stand in the JSON only.
    more: String,
}

/// All of one run.
pub struct Record {
    about: String,
    group: &'static str,
    entries: Vec<Entry>,
    pub lines: Vec<String>,
}

/// Three digits.
pub fn short(x: f64) -> String {
    let digits = 2 - x.abs().max(1e-300).log10().floor() as i32;
    if (0..=4).contains(&digits) { format!("{x:.*}", digits as usize) } else { format!("{x:.0}") }
}

fn time(nanoseconds: f64) -> String {
    let (scale, unit) = match nanoseconds {
        t if t < 1e3 => (1.0, "ns"),
        t if t < 1e6 => (1e-3, "µs"),
        _ => (1e-6, "ms"),
    };
    format!("{} {unit}", short(scale * nanoseconds))
}

impl Record {
    pub fn new(build: &str) -> Self {
        let isa = deepgp_numerics::simd::Isa::detect();
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model =
            info.lines().find_map(|l| l.strip_prefix("model name")).unwrap_or("").trim_matches([' ', '\t', ':']);
        let commit = option_env!("BENCH_COMMIT").unwrap_or("unknown");
        let about = format!(r#""build":"{build}","commit":"{commit}","machine":"{model}","instruction_set":"{isa:?}""#);
        Self { about, group: "", entries: vec![], lines: vec![] }
    }

    pub fn group(&mut self, group: &'static str) {
        self.flush();
        self.group = group;
    }

    /// Times ours beside theirs.
    pub fn compare(
        &mut self,
        operation: impl Into<String>,
        size: impl Into<String>,
        ours: &mut Task<'_>,
        theirs: Vec<(&'static str, Task<'_>)>,
    ) {
        let (operation, size) = (operation.into(), size.into());
        for (peer, mut theirs) in theirs {
            let outcome = turns(ours, &mut theirs);
            self.add(&operation, &size, peer, outcome, String::new());
        }
    }

    pub fn add(&mut self, operation: &str, size: &str, peer: &'static str, outcome: Outcome, more: String) {
        let [ours, theirs] = outcome.nanoseconds;
        let ratio = outcome.ratio;
        eprintln!(
            "{} | {operation} | {size} | {peer} | {} | {} | {:.2}",
            self.group,
            time(ours),
            time(theirs),
            ratio[1]
        );
        let (operation, size) = (operation.to_owned(), size.to_owned());
        self.entries.push(Entry { operation, size, peer, ours, theirs, ratio, more });
    }

    /// A line that is no comparison of times.
    pub fn note(&mut self, group: &str, operation: &str, more: &str) {
        eprintln!("{group} | {operation} | {more}");
        self.lines.push(format!(r#"{{"group":"{group}","operation":"{operation}",{more},{}}}"#, self.about));
    }

    /// Prints the table of a group, and keeps its lines.
    pub fn flush(&mut self) {
        if self.entries.is_empty() {
            return;
        }
        let mut table = format!("\n## {}\n\n", self.group);
        table +=
            "| operation | size | ours | peer | theirs | theirs by ours (quartiles) |\n|---|---|---|---|---|---|\n";
        for e in self.entries.drain(..) {
            let [q1, q2, q3] = e.ratio;
            let (ours, theirs) = (time(e.ours), time(e.theirs));
            let (operation, size, peer) = (&e.operation, &e.size, e.peer);
            _ = writeln!(table, "| {operation} | {size} | {ours} | {peer} | {theirs} | {q2:.2} ({q1:.2} to {q3:.2}) |");
            let group = self.group;
            let more = if e.more.is_empty() { e.more } else { format!(",{}", e.more) };
            self.lines.push(format!(
                r#"{{"group":"{group}","operation":"{operation}","size":"{size}","peer":"{peer}","nanoseconds":{:.3},"peer_nanoseconds":{:.3},"times_faster":{q2:.4},"quartiles":[{q1:.4},{q3:.4}]{more},{}}}"#,
                e.ours, e.theirs, self.about
            ));
        }
        println!("{table}");
    }
}
