//! `deepgp bench frontier`: accuracy against time, over inducing inputs, depth and engines (the paper's last
//! experiment).

use super::options::Frontier;
use super::study::{run, tasks_or};
use crate::exit_codes::usage_of;
use anyhow::Result;
use deepgp_experiments::{Network, Study, Task, Variant};
use deepgp_fit::names::EngineName;
use deepgp_fit::positive;

/// Data sets that are small enough for full EP, unless others are asked for.
const TASKS: [&str; 3] = ["boston", "concrete", "energy1"];
/// Networks that are compared over the numbers of inducing inputs.
const NETWORKS: [&str; 4] = ["gp", "1", "2", "D"];
/// Networks that are compared over depth, with 50 inducing inputs.
const DEPTHS: [&str; 8] = ["2", "2,2", "2,2,2", "2,2,2,2", "D:linear", "D,D:linear", "D,D,D:linear", "D,D,D,D:linear"];
const DEPTH_INDUCING: usize = 50;
/// The network that engines are compared with.
const ENGINE_NETWORK: &str = "2";
const ENGINES: [EngineName; 4] = [EngineName::Sep, EngineName::Ep, EngineName::Adf, EngineName::Joint];

/// Runs the three studies; returns the exit code.
pub fn frontier(args: &Frontier) -> Result<u8> {
    let default = TASKS.iter().map(|name| name.parse()).collect::<deepgp_experiments::Result<Vec<Task>>>()?;
    let tasks = tasks_or(&args.study.tasks, default)?;
    positive("lr", args.lr).map_err(usage_of)?;
    let variants = |networks: &[&str], inducing: &[usize], engines: &[EngineName]| -> Result<Vec<Variant>> {
        let mut all = Vec::new();
        for network in networks {
            let network: Network = network.parse()?;
            for &m in inducing {
                for &engine in engines {
                    let mut variant = args.training.variant(&network, m, engine, args.alpha)?;
                    variant.base.train.learning_rate = args.lr;
                    all.push(variant);
                }
            }
        }
        Ok(all)
    };
    let study = |name: &str, variants: Vec<Variant>| Study {
        name: name.to_owned(),
        tasks: tasks.clone(),
        variants,
        splits: args.study.splits.as_ref().map(|list| list.0.clone()),
        search: None,
        choose: false,
        shard: args.study.shard,
    };
    let sep = &ENGINES[..1];
    let studies = [
        study("frontier-inducing", variants(&NETWORKS, &args.inducing, sep)?),
        study("frontier-depth", variants(&DEPTHS, &[DEPTH_INDUCING], sep)?),
        study("frontier-engines", variants(&[ENGINE_NETWORK], &args.engine_inducing, &ENGINES)?),
    ];
    run(&studies, &args.study)
}
