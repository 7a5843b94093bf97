//! `deepgp fit --dry-run`: what a fit would do, as a config file or as JSON.

use crate::exit_codes::{SUCCESS, in_words};
use crate::out::{notices, print, print_json};
use crate::wording::{count, plural};
use anyhow::Result;
use deepgp_data::Source;
use deepgp_fit::{Interrupted, Plan, Preview};
use serde_json::json;

/// Says what would be done; returns the exit code.
pub fn run(plan: Plan, interrupted: Option<&Interrupted>, source: &Source, as_json: bool) -> Result<u8> {
    let preview = match interrupted {
        Some(interrupted) => Preview::of_interrupted(interrupted),
        None => Preview::of_plan(plan, source),
    };
    let Preview { schema, n_train, n_held_out, steps, batch_size, settings, notices: found } =
        preview.map_err(in_words)?;
    notices(false, &found);
    if as_json {
        print_json(&json!({
            "rows": n_train, "held_out_rows": n_held_out, "features": schema.feature_names(),
            "targets": schema.targets(), "steps": steps, "settings": settings,
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
    text += &match steps {
        Some(steps) => format!("# {} of {}\n", plural(steps, "step"), plural(batch_size, "row")),
        None => "# steps until the time is over\n".to_owned(),
    };
    text += &toml::to_string(&settings)?;
    print(&text)?;
    Ok(SUCCESS)
}
