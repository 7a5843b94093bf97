//! `deepgp fit --dry-run`: what a fit would do, as a config file or as JSON.

use crate::exit_codes::{SUCCESS, in_words};
use crate::out::{notices, print, print_json};
use crate::wording::{count, plural};
use anyhow::Result;
use deepgp_data::Source;
use deepgp_fit::names::TaskName;
use deepgp_fit::{Interrupted, Plan, Preview};
use serde_json::json;

/// Says what would be done; returns the exit code.
pub fn run(plan: Plan, interrupted: Option<&Interrupted>, source: &Source, as_json: bool) -> Result<u8> {
    let preview = match interrupted {
        Some(interrupted) => Preview::of_interrupted(interrupted),
        None => Preview::of_plan(plan, source),
    };
    let Preview {
        schema,
        task,
        choice,
        is_search,
        n_train,
        n_held_out,
        steps,
        batch_size,
        settings,
        notices: found,
        ..
    } = preview.map_err(in_words)?;
    notices(false, &found);
    let taken_for = choice.map_or_else(|| format!("predicted as {task}"), |choice| choice.to_string());
    // A label may have a line end of its own.
    let taken_for = taken_for.replace(['\n', '\r'], " ");
    if as_json {
        print_json(&json!({
            "rows": n_train, "held_out_rows": n_held_out, "features": schema.feature_names(),
            "targets": schema.targets(), "task": TaskName::from(task), "taken_for": taken_for, "search": is_search,
            "steps": steps, "settings": settings,
        }))?;
        return Ok(SUCCESS);
    }
    let mut text = format!(
        "# {}, {} of them held out; {} from {}\n",
        plural(n_train + n_held_out, "row"),
        count(n_held_out),
        plural(schema.n_features(), "feature"),
        plural(schema.inputs().len(), "column")
    );
    text += &format!("# {taken_for}\n");
    text += &match steps {
        None if is_search => "# a search chooses networks and their steps\n".to_owned(),
        Some(steps) => format!("# {} of {}\n", plural(steps, "step"), plural(batch_size, "row")),
        None => "# steps until the time is over\n".to_owned(),
    };
    text += &toml::to_string(&settings)?;
    print(&text)?;
    Ok(SUCCESS)
}
