//! What a target column is taken for: a number, a class, a level or a count.
//!
//! | what the column holds | task |
//! |---|---|
//! | text, or two different values | classes |
//! | whole numbers, few and close together | ordered levels; classes if the column is called "label" or the like |
//! | whole numbers from 0 or a little more on | counts |
//! | anything else | regression |
//!
//! Whoever knows better says so by [`TargetSettings`].

use crate::error::Result;
use crate::names::{LikelihoodName, TaskName};
use crate::settings::RowSettings;
use crate::target_error::TargetError;
use crate::values::Names;
use deepgp_data::{TargetLevel, TargetSummary};
use deepgp_task::{LikelihoodChoice, MOST_CLASSES, Task};
use serde::Serialize;
use std::fmt::{self, Display, Formatter};

/// Least rows for each of few values, on average, that make them levels or classes without being told.
const ROWS_PER_LEVEL: u64 = 5;
/// Most values of ordered levels that nobody spoke of.
const MOST_LEVELS: usize = 10;
/// The least share of the whole numbers between the least and the greatest level that must be there.
const LEAST_FILLED: f64 = 0.7;
/// Counts begin below this.
const LEAST_COUNT: f64 = 10.0;
/// Counts that nobody spoke of end below this: larger whole numbers are sums of money, or of other numbers.
const MOST_COUNT: f64 = 1e5;
/// Columns of these names hold classes, even if these are numbers.
const NAMES_OF_CLASSES: [&str; 8] =
    ["label", "class", "target_class", "species", "category", "type", "kind", "diagnosis"];

/// What is said of the target.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TargetSettings<'a> {
    /// The task; nothing to find it out.
    pub task: Option<TaskName>,
    /// The label that counts as the second of two.
    pub positive: Option<&'a str>,
    /// All labels, in their order.
    pub levels: Option<&'a Names>,
    /// Whether there are columns of bounds or of what is censored.
    pub has_bounds: bool,
}

impl TargetSettings<'_> {
    /// Whether anything is said that only labels have.
    pub fn asks_for_labels(&self) -> bool {
        matches!(self.task, Some(TaskName::Classes | TaskName::Ordinal))
            || self.positive.is_some()
            || self.levels.is_some()
    }
}

/// What a target column is taken for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TargetChoice {
    /// The column.
    pub column: String,
    /// The task.
    pub task: Task,
    /// The labels in order, the second of two being the one whose probability is told; none for numbers and counts.
    pub levels: Vec<String>,
    /// Whether the caller said so.
    pub is_asked_for: bool,
    /// What the column holds, in words.
    pub holds: String,
}

fn texts(levels: &[TargetLevel]) -> Vec<String> {
    levels.iter().map(|level| level.text.clone()).collect()
}

/// Whether two labels are the same, as text or as numbers.
fn is_same(a: &str, b: &str) -> bool {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    a.trim() == b.trim() || number(a).zip(number(b)).is_some_and(|(a, b)| a == b)
}

/// Makes sure that an observation model, that of a given network, and the columns that say something of rows suit what
/// is predicted.
///
/// # Errors
/// [`TargetError`].
pub(crate) fn check_model(
    targets: &[TargetSummary],
    task: Task,
    likelihood: Option<LikelihoodChoice>,
    rows: &RowSettings,
) -> Result<(), TargetError> {
    let Some(TargetSummary { name, low, high, .. }) = targets.first() else { return Ok(()) };
    let column = name.clone();
    if let Some(choice) = likelihood {
        let likelihood = LikelihoodName::from(choice);
        if !task.likelihoods().contains(&choice) {
            return Err(TargetError::OtherLikelihood { column, likelihood, task });
        }
        if targets.len() > choice.most_targets() {
            return Err(TargetError::OneTarget { likelihood });
        }
        let (outside, range) = match choice {
            LikelihoodChoice::Gamma => (Some(*low).filter(|low| *low <= 0.0), "above 0"),
            LikelihoodChoice::Beta if *low <= 0.0 => (Some(*low), "between 0 and 1"),
            LikelihoodChoice::Beta => (Some(*high).filter(|high| *high >= 1.0), "between 0 and 1"),
            _ => (None, ""),
        };
        if let Some(value) = outside {
            return Err(TargetError::OutOfRange { column, value: value.to_string(), likelihood, range });
        }
    }
    use LikelihoodChoice::{Censored, NegativeBinomial, Poisson};
    let is_one_of = |choices: &[LikelihoodChoice]| likelihood.is_none_or(|choice| choices.contains(&choice));
    let has_exposure = task == Task::Counts && is_one_of(&[Poisson, NegativeBinomial]);
    let is_additive = likelihood.is_none_or(|choice| choice.is_additive() || choice == Censored);
    let has_noise = matches!(task, Task::Regression | Task::Censored) && targets.len() == 1 && is_additive;
    const OF_COUNTS: &str = "counts with a likelihood of their own";
    const OF_NUMBERS: &str = "a single number with noise that is added to it";
    const OF_BOUNDS: &str = "numbers, some of them known within bounds";
    let settings = [
        ("exposure", &rows.exposure, has_exposure, OF_COUNTS),
        ("noise-std", &rows.noise_std, has_noise, OF_NUMBERS),
        ("censored", &rows.censored, task == Task::Censored, OF_BOUNDS),
        ("lower", &rows.lower, task == Task::Censored, OF_BOUNDS),
        ("upper", &rows.upper, task == Task::Censored, OF_BOUNDS),
    ];
    match settings.into_iter().find(|(_, named, has, _)| named.is_some() && !has) {
        None => Ok(()),
        Some((setting, _, _, meant)) => Err(TargetError::IdleColumn { setting, meant, column }),
    }
}

/// What a column is taken for.
///
/// # Errors
/// [`TargetError`], or what [`TargetSummary::require_numbers`] says.
pub(crate) fn choose(summary: &TargetSummary, said: TargetSettings<'_>) -> Result<TargetChoice> {
    let task = match said.task {
        Some(task) => task,
        None if said.has_bounds => TaskName::Censored,
        None if said.levels.is_some() => TaskName::Ordinal,
        None if said.positive.is_some() => TaskName::Classes,
        None => inferred(summary),
    };
    let choice = |task: Task, levels: Vec<String>, holds: String| TargetChoice {
        column: summary.name.clone(),
        task,
        levels,
        is_asked_for: said.task.is_some() || said.asks_for_labels(),
        holds,
    };
    match task {
        TaskName::Regression => {
            summary.require_numbers()?;
            Ok(choice(Task::Regression, Vec::new(), "numbers".to_owned()))
        }
        TaskName::Censored => {
            summary.require_numbers()?;
            if !said.has_bounds {
                return Err(TargetError::NoBounds { column: summary.name.clone() }.into());
            }
            Ok(choice(Task::Censored, Vec::new(), "numbers, some of them known within bounds".to_owned()))
        }
        TaskName::Counts => {
            summary.require_numbers()?;
            if summary.is_whole && summary.low >= 0.0 {
                let holds = format!("whole numbers from {} to {}", summary.low, summary.high);
                return Ok(choice(Task::Counts, Vec::new(), holds));
            }
            let place = summary.first_no_count.as_ref().map_or(String::new(), |(place, _)| place.to_string());
            let value = summary.first_no_count.as_ref().map_or(String::new(), |(_, text)| text.clone());
            Err(TargetError::NotCounts { column: summary.name.clone(), place, value }.into())
        }
        TaskName::Classes | TaskName::Ordinal => {
            let levels = labels(summary, said, task)?;
            let count = levels.len();
            let holds = holds(summary);
            let task = if task == TaskName::Classes { Task::Classes { count } } else { Task::Ordinal { count } };
            Ok(choice(task, levels, holds))
        }
    }
}

/// What a column holds, in words: "yes (12 %) and no" or "6 whole numbers from 3 to 8".
fn holds(summary: &TargetSummary) -> String {
    let count = summary.levels.len();
    if summary.is_numeric() && summary.is_whole && count > 2 {
        return format!("{count} whole numbers from {} to {}", summary.low, summary.high);
    }
    let share = |level: &TargetLevel| {
        let percent = 100.0 * level.count as f64 / summary.n_cells.max(1) as f64;
        format!("{:?} ({percent:.0} %)", level.text)
    };
    const SHOWN: usize = 5;
    let shown: Vec<String> = summary.levels.iter().take(SHOWN).map(share).collect();
    let more = if count > SHOWN { format!(" and {} more", count - SHOWN) } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

/// The task of a column that nobody spoke of.
fn inferred(summary: &TargetSummary) -> TaskName {
    let (count, cells) = (summary.levels.len(), summary.n_cells);
    if !summary.is_numeric() {
        return TaskName::Classes;
    }
    if summary.has_more_levels || !summary.is_whole {
        return if is_count(summary) { TaskName::Counts } else { TaskName::Regression };
    }
    let are_repeated = cells >= ROWS_PER_LEVEL * count as u64;
    let filled = count as f64 / (summary.high - summary.low + 1.0);
    match count {
        2 if are_repeated => TaskName::Classes,
        3..=MOST_CLASSES if are_repeated && is_named_class(&summary.name) => TaskName::Classes,
        3..=MOST_LEVELS if are_repeated && filled >= LEAST_FILLED => TaskName::Ordinal,
        3.. if is_count(summary) => TaskName::Counts,
        _ => TaskName::Regression,
    }
}

fn is_named_class(name: &str) -> bool {
    NAMES_OF_CLASSES.iter().any(|class| name.trim().eq_ignore_ascii_case(class))
}

fn is_count(summary: &TargetSummary) -> bool {
    let range = 0.0..LEAST_COUNT;
    summary.is_whole && range.contains(&summary.low) && (LEAST_COUNT..MOST_COUNT).contains(&summary.high)
}

/// The labels of a column in their order.
fn labels(summary: &TargetSummary, said: TargetSettings<'_>, task: TaskName) -> Result<Vec<String>, TargetError> {
    let column = summary.name.clone();
    let found = texts(&summary.levels);
    if summary.has_more_levels || found.len() > MOST_CLASSES {
        let (count, example) = (found.len(), found.first().cloned().unwrap_or_default());
        return Err(TargetError::TooManyClasses { column, count, has_more: summary.has_more_levels, example });
    }
    let mut levels = match (said.levels, summary.boolean_levels()) {
        (Some(Names(listed)), _) => {
            let is_listed = |level: &&TargetLevel| listed.iter().any(|label| is_same(label, &level.text));
            if let Some(level) = summary.levels.iter().find(|level| !is_listed(level)) {
                return Err(TargetError::UnlistedLabel { column, label: level.text.clone(), count: level.count });
            }
            let is_repeated = |place: &usize| listed[..*place].iter().any(|other| is_same(other, &listed[*place]));
            if let Some(place) = (1..listed.len()).find(is_repeated) {
                return Err(TargetError::RepeatedLevel { column, label: listed[place].clone() });
            }
            listed.clone()
        }
        (None, Some(words)) => words.map(str::to_owned).to_vec(),
        (None, None) if task == TaskName::Ordinal && !summary.is_numeric() => {
            return Err(TargetError::NoOrder { column, known: found });
        }
        (None, None) => found.clone(),
    };
    if let [label] = levels.as_slice() {
        return Err(TargetError::OneClass { column, label: label.clone() });
    }
    if let Some(positive) = said.positive {
        if levels.len() != 2 {
            return Err(TargetError::NotTwoClasses { column, count: levels.len() });
        }
        match levels.iter().position(|level| is_same(level, positive)) {
            None => return Err(TargetError::NoSuchLabel { column, label: positive.to_owned(), known: found }),
            Some(0) => levels.swap(0, 1),
            Some(_) => {}
        }
    }
    Ok(levels)
}

/// One line: what the column holds, what it is taken for, and what to say if that is wrong.
impl Display for TargetChoice {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { column, task, levels, is_asked_for, holds } = self;
        write!(f, "the target {column:?} holds {holds}: ")?;
        match task {
            Task::Regression | Task::Censored => write!(f, "predicted as a number")?,
            Task::Counts => write!(f, "predicted as a count")?,
            Task::Ordinal { count } => write!(f, "predicted as {count} ordered levels")?,
            Task::Classes { count: 2 } => {
                write!(f, "predicted as two classes, {:?} being the positive one", levels[1])?
            }
            Task::Classes { count } => write!(f, "predicted as {count} classes")?,
        }
        match (is_asked_for, task) {
            (true, _) | (_, Task::Regression | Task::Censored) => Ok(()),
            (false, Task::Counts) => write!(f, "; --task regression if it is a number like any other"),
            (false, Task::Ordinal { .. }) => {
                write!(f, "; --task regression if it is a number like any other, --task classes if there is no order")
            }
            (false, Task::Classes { count: 2 }) => write!(f, "; --positive {:?} for the other", levels[0]),
            (false, Task::Classes { .. }) => {
                write!(f, "; --task ordinal --levels LOWEST,…,HIGHEST if there is an order")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp_data::{ReadOptions, Roles, Schema, Source};

    const NOTHING: TargetSettings<'_> = TargetSettings { task: None, positive: None, levels: None, has_bounds: false };

    fn summary(name: &str, cells: impl IntoIterator<Item = String>) -> TargetSummary {
        let rows: String =
            cells.into_iter().enumerate().map(|(i, cell)| format!("{},{cell}\n", 0.5 * i as f64)).collect();
        let source = Source::from_bytes("t.csv", format!("x,{name}\n{rows}").into_bytes());
        let roles = Roles { labels: vec![name.to_owned()], ..Roles::predict([name]) };
        Schema::learn(&source, &ReadOptions::default(), &roles).expect("a table").targets.remove(0)
    }

    fn of(name: &str, values: &[&str], n: usize) -> TargetSummary {
        summary(name, (0..n).map(|i| values[i % values.len()].to_owned()))
    }

    fn task(summary: &TargetSummary) -> Task {
        choose(summary, NOTHING).expect("a task").task
    }

    #[test]
    fn columns_are_taken_for_what_they_look_like() {
        assert_eq!(task(&of("y", &["yes", "no"], 30)), Task::Classes { count: 2 });
        assert_eq!(task(&of("y", &["0", "1"], 30)), Task::Classes { count: 2 });
        assert_eq!(task(&of("y", &["red", "green", "blue"], 30)), Task::Classes { count: 3 });
        assert_eq!(task(&of("y", &["3", "4", "5", "6", "7", "8"], 60)), Task::Ordinal { count: 6 });
        assert_eq!(task(&of("label", &["0", "1", "2"], 60)), Task::Classes { count: 3 });
        assert_eq!(task(&summary("y", (0..90).map(|i| (i * i % 97).to_string()))), Task::Counts);
        assert_eq!(task(&summary("y", (0..90).map(|i| format!("{}", 0.5 * f64::from(i))))), Task::Regression);
        // Prices, and negative numbers, are no counts; few rows prove nothing.
        assert_eq!(task(&summary("y", (0..90).map(|i| (150_000 + 500 * i).to_string()))), Task::Regression);
        assert_eq!(task(&summary("y", (0..90).map(|i| (i - 40).to_string()))), Task::Regression);
        assert_eq!(task(&of("y", &["1", "0"], 4)), Task::Regression);
    }

    #[test]
    fn the_second_of_two_labels_can_be_chosen() {
        let column = of("sick", &["no", "yes", "no"], 30);
        let levels = |said: TargetSettings<'_>| choose(&column, said).map(|choice| choice.levels);
        assert_eq!(levels(NOTHING).expect("labels"), ["no", "yes"]);
        assert_eq!(levels(TargetSettings { positive: Some("no"), ..NOTHING }).expect("labels"), ["yes", "no"]);
        let error = levels(TargetSettings { positive: Some("maybe"), ..NOTHING }).expect_err("no such label");
        assert_eq!(error.to_string(), r#"the target "sick" is never "maybe"; it is "no", "yes""#);
    }

    #[test]
    fn levels_are_listed_where_their_order_is_not_known() {
        let column = of("size", &["small", "large", "medium"], 30);
        let ordinal = TargetSettings { task: Some(TaskName::Ordinal), ..NOTHING };
        assert!(choose(&column, ordinal).is_err_and(|error| error.to_string().contains("list them")));
        let names = Names(["small", "medium", "large"].map(str::to_owned).to_vec());
        let choice = choose(&column, TargetSettings { levels: Some(&names), ..NOTHING }).expect("levels");
        assert_eq!((choice.task, choice.levels), (Task::Ordinal { count: 3 }, names.0));
        let few = Names(vec!["small".into(), "large".into()]);
        let error = choose(&column, TargetSettings { levels: Some(&few), ..NOTHING }).expect_err("one is missing");
        assert_eq!(error.to_string(), r#"the target "size" is "medium" in 10 rows, which is not among the levels"#);
        // Levels that are numbers have an order of their own.
        let numbers = of("y", &["10", "9", "2"], 30);
        assert_eq!(choose(&numbers, ordinal).expect("levels").levels, ["2", "9", "10"]);
    }

    #[test]
    fn what_cannot_be_told_apart_is_refused() {
        let message = |summary: &TargetSummary, task| {
            choose(summary, TargetSettings { task, ..NOTHING }).expect_err("refused").to_string()
        };
        assert!(message(&of("y", &["same"], 30), None).contains("nothing to tell apart"));
        assert!(message(&summary("y", (0..300).map(|i| format!("name {i}"))), None).contains("at most 100 classes"));
        assert!(message(&of("y", &["1.5", "2"], 30), Some(TaskName::Counts)).contains("whole numbers"));
        assert!(message(&of("y", &["a", "b"], 30), Some(TaskName::Regression)).contains("holds text"));
    }

    #[test]
    fn a_choice_says_what_to_type_if_it_is_wrong() {
        let say = |summary: &TargetSummary| choose(summary, NOTHING).expect("a task").to_string();
        assert_eq!(
            say(&of("sick", &["no", "yes", "no"], 30)),
            "the target \"sick\" holds \"no\" (67 %), \"yes\" (33 %): predicted as two classes, \"yes\" being the \
             positive one; --positive \"no\" for the other"
        );
        assert!(say(&of("quality", &["3", "4", "5"], 60)).contains("--task regression"));
    }
}
