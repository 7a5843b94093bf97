//! Fits: on a thread of their own, while the caller's looks after signals and tells what happens.

use crate::errors::Failure;
use crate::model::Model;
use crate::table::Table;
use deepgp_data::Source;
use deepgp_fit::names::TaskName;
use deepgp_fit::{Done, Event, Fit, FitResult, FitSettings, Interrupted, Plan, Remark};
use deepgp_task::Task;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Between two looks at signals, and between two steps that are told.
const PAUSE: Duration = Duration::from_millis(50);
/// As much as the system gives a program's first thread.
const STACK_BYTES: usize = 8 << 20;

/// What is to be fitted.
struct Job {
    settings: FitSettings,
    table: Source,
    held_out: Option<Source>,
    has_file: bool,
    /// The checkpoint of an interrupted fit to go on with.
    checkpoint: Option<PathBuf>,
    /// Whether classes that nobody asked for are numbers.
    wants_numbers: bool,
}

impl Job {
    fn plan(&self, task: Option<TaskName>) -> Result<Plan, Failure> {
        let settings = FitSettings { task: task.or(self.settings.task), ..self.settings.clone() };
        let plan = Plan::new(&settings)?;
        Ok(if self.has_file { plan } else { plan.in_memory() })
    }

    /// Reads the table, as numbers if it is to be and its target would be taken for classes.
    fn read(&self, task: Option<TaskName>, tell: &mut dyn FnMut(Value)) -> Result<Fit, Failure> {
        let (mut events, mut is_classes) = (Vec::new(), false);
        let mut on_event = |event: Event<'_>| {
            if let Event::TaskChosen { choice } = &event {
                is_classes = !choice.is_asked_for && matches!(choice.task, Task::Classes { .. });
            }
            events.extend(told(&event));
        };
        let held_out = self.held_out.as_ref();
        let fit = Fit::with_held_out(self.plan(task)?, &self.table, held_out, &mut on_event).map_err(Failure::from);
        let is_open = self.wants_numbers && task.is_none() && self.settings.task.is_none();
        let is_other = match &fit {
            Ok(_) => is_classes,
            Err(failure) => failure.is_of_target(),
        };
        if is_open && is_other {
            return self.read(Some(TaskName::Regression), tell);
        }
        events.into_iter().for_each(tell);
        fit
    }

    /// The interrupted fit, on the same table.
    fn go_on(&self, checkpoint: &Path, tell: &mut dyn FnMut(Value)) -> Result<Fit, Failure> {
        let mut interrupted = Interrupted::load(checkpoint)?;
        interrupted.change(&self.settings);
        let mut on_event = |event: Event<'_>| told(&event).into_iter().for_each(&mut *tell);
        Ok(Fit::resume(interrupted, &self.table, &mut on_event)?)
    }

    fn run(&self, stop: &AtomicBool, tell: &mut dyn FnMut(Value)) -> Result<FitResult, Failure> {
        let fit = match &self.checkpoint {
            Some(checkpoint) => self.go_on(checkpoint, tell)?,
            None => self.read(None, tell)?,
        };
        let mut last_step = None::<Instant>;
        let mut on_event = |event: Event<'_>| {
            if let Event::Step(_) = event {
                if last_step.is_some_and(|told| told.elapsed() < PAUSE) {
                    return;
                }
                last_step = Some(Instant::now());
            }
            told(&event).into_iter().for_each(&mut *tell);
        };
        Ok(fit.run(stop, &mut on_event)?)
    }
}

/// An event as Python is told of it.
fn told(event: &Event<'_>) -> Option<Value> {
    let texts = |notices: &[deepgp_data::Notice]| notices.iter().map(ToString::to_string).collect::<Vec<_>>();
    Some(match event {
        Event::TargetChosen { column } => json!({ "event": "target_chosen", "column": column }),
        Event::TaskChosen { choice } => {
            json!({
                "event": "task_chosen", "task": TaskName::from(choice.task), "levels": choice.levels,
                "is_asked_for": choice.is_asked_for, "text": choice.to_string(),
            })
        }
        Event::SchemaLearnt { notices } => json!({ "event": "schema_learnt", "notices": texts(notices) }),
        Event::RowsRead { notices } => json!({ "event": "rows_read", "notices": texts(notices) }),
        Event::Resumed(Done::Steps(steps)) => json!({ "event": "resumed", "steps": steps }),
        Event::Resumed(Done::Trainings(trainings)) => json!({ "event": "resumed", "trainings": trainings }),
        Event::CheckpointReplaced { path } => json!({ "event": "checkpoint_replaced", "path": path }),
        Event::Started { is_search, rows, held_out, features } => json!({
            "event": "started", "is_search": is_search, "rows": rows, "held_out": held_out, "features": features,
        }),
        Event::Step(progress) => json!({
            "event": "step", "step": progress.step, "steps": progress.steps, "share": progress.share,
            "seconds_left": progress.seconds_left, "energy": progress.energy,
            "rmse": progress.held_out.and_then(|(rmse, _)| rmse),
            "log_density": progress.held_out.map(|(_, log_density)| log_density),
        }),
        Event::Improved { step, log_density } => {
            json!({ "event": "improved", "step": step, "log_density": log_density })
        }
        Event::Tried(tried) => {
            let mut value = json!(tried);
            value["event"] = json!("tried");
            value
        }
        Event::CheckpointFailed { error } => json!({ "event": "checkpoint_failed", "text": error.to_string() }),
        Event::Trained => json!({ "event": "trained" }),
        Event::Saved { path } => json!({ "event": "saved", "path": path }),
        _ => return None,
    })
}

/// Tells events until the fit has ended; asks it to end as soon as Python or the callback wants that. Returns what was
/// raised, and the number of interrupts.
fn attend(events: &Receiver<Value>, stop: &AtomicBool, callback: Option<&Py<PyAny>>) -> (Option<PyErr>, u32) {
    let (mut raised, mut interrupts) = (None::<PyErr>, 0);
    loop {
        let event = match events.recv_timeout(PAUSE) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return (raised, interrupts),
        };
        let outcome = Python::attach(|py| -> PyResult<bool> {
            py.check_signals()?;
            match (&event, callback) {
                (Some(event), Some(callback)) => callback.call1(py, (event.to_string(),))?.is_truthy(py),
                _ => Ok(false),
            }
        });
        match outcome {
            Ok(false) => {}
            Ok(true) => stop.store(true, Ordering::Relaxed),
            Err(error) => {
                stop.store(true, Ordering::Relaxed);
                let is_interrupt =
                    Python::attach(|py| error.is_instance_of::<pyo3::exceptions::PyKeyboardInterrupt>(py));
                interrupts += u32::from(is_interrupt);
                // The first Ctrl-C asks for an end, a second one is raised, as is any other exception.
                if !is_interrupt || interrupts > 1 {
                    raised = raised.or(Some(error));
                }
            }
        }
    }
}

/// Fits a model to a table by settings (JSON of `FitSettings`) and returns it with what the command prints of it as
/// JSON, remarks included. `held_out` is a table in the place of rows that are held out; `callback` gets each event as
/// JSON and ends the fit by a true answer. An interrupt ends it, too, with the best model so far. With a `checkpoint`,
/// an interrupted fit goes on, to the same bits as if nothing had happened.
#[pyfunction]
#[pyo3(signature = (table, settings, held_out = None, wants_numbers = false, callback = None, checkpoint = None))]
pub fn fit(
    py: Python<'_>,
    table: &Bound<'_, Table>,
    settings: &str,
    held_out: Option<&Bound<'_, Table>>,
    wants_numbers: bool,
    callback: Option<Py<PyAny>>,
    checkpoint: Option<PathBuf>,
) -> PyResult<(Model, String)> {
    let settings: FitSettings = serde_json::from_str(settings).map_err(|error| Failure::settings(error.to_string()))?;
    let (source, options) = (table.borrow().source(), table.borrow().options());
    let data = Some(source.label().to_owned());
    let has_file = settings.out.is_some();
    let settings = FitSettings { data, table: options, ..settings };
    let held_out = held_out.map(|table| table.borrow().source());
    let job = Job { settings, table: source, held_out, has_file, checkpoint, wants_numbers };
    let stop = AtomicBool::new(false);
    let (send, events): (Sender<Value>, Receiver<Value>) = channel();
    let (job, stop) = (&job, &stop);
    let (result, raised, interrupts) = py.detach(move || {
        thread::scope(|scope| {
            let work = move || {
                // Nobody hears of what comes after the caller has gone.
                job.run(stop, &mut |event| drop(send.send(event)))
            };
            let thread = thread::Builder::new().name("deepgp".to_owned()).stack_size(STACK_BYTES);
            let worker = match thread.spawn_scoped(scope, work) {
                Ok(worker) => worker,
                Err(error) => return (Err(PyRuntimeError::new_err(format!("no thread: {error}"))), None, 0),
            };
            let (raised, interrupts) = attend(&events, stop, callback.as_ref());
            let result = match worker.join() {
                Ok(result) => result.map_err(PyErr::from),
                Err(_) => Err(PyRuntimeError::new_err("the fit has panicked; please report this")),
            };
            (result, raised, interrupts)
        })
    });
    if let Some(error) = raised {
        return Err(error);
    }
    let result = match result {
        Err(error) if interrupts > 0 => {
            let interrupt = pyo3::exceptions::PyKeyboardInterrupt::new_err("interrupted before there was a model");
            interrupt.set_cause(py, Some(error));
            return Err(interrupt);
        }
        result => result?,
    };
    let out = if has_file { result.settings.out.clone() } else { None };
    let mut told = deepgp_cli::fit_json(&result, &out.clone().unwrap_or_else(PathBuf::new));
    told["model"] = json!(out);
    let remarks = deepgp_cli::remarks(&result);
    // What is no flaw is no warning.
    let is_flaw = |remark: &Remark| !matches!(remark, Remark::NumericalEvents { .. } | Remark::Recalibrated { .. });
    let flaws = result
        .remarks()
        .iter()
        .zip(&remarks)
        .filter(|(remark, _)| is_flaw(remark))
        .map(|(_, text)| text)
        .collect::<Vec<_>>();
    told["warnings"] = json!(flaws);
    told["remarks"] = json!(remarks);
    told["interrupts"] = json!(interrupts);
    Ok((Model::new(result.saved)?, told.to_string()))
}
