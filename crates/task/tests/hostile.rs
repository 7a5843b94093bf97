//! Damaged and hostile model files: an error that says what is wrong, or a model that answers; never a crash.

mod common;

use common::{config, data, preprocessing, rows, saved};
use deepgp::infer::{Engine, InferenceSettings, Site};
use deepgp::init::KernelChoice;
use deepgp_io::{Kind, seal, unseal};
use deepgp_task::WarpKind;
use deepgp_task::{Best, Checkpoint, Config, FormatError, LikelihoodChoice, Record, SavedModel, StandardisedData};
use serde_json::{Value, json};

/// Loads and, if that goes well, predicts: all that must not panic. Returns whether it loaded.
fn try_out(bytes: &[u8]) -> Result<SavedModel, FormatError> {
    let saved = SavedModel::from_bytes(bytes)?;
    if let Ok(model) = saved.model()
        && model.inputs().columns() == 2
        && let Ok(prediction) = model.predict(&rows())
    {
        let _ = model.log_density(&rows(), &prediction.y.mean);
        let _ = model.score(&rows(), &prediction.y.mean);
    }
    Ok(saved)
}

/// Models of every kernel and noise, hardly trained.
fn variety() -> Vec<SavedModel> {
    let kernels = [
        KernelChoice::Eq,
        KernelChoice::Linear,
        KernelChoice::EqLinear,
        KernelChoice::SpectralMixture(2),
        KernelChoice::Matern32,
    ];
    let one = |(i, kernel)| {
        let mut config = config(3);
        config.architecture.n_inducing = 3;
        config.architecture.kernel = kernel;
        config.likelihood = if i == 0 { LikelihoodChoice::StudentT } else { LikelihoodChoice::Gaussian };
        saved(config)
    };
    kernels.into_iter().enumerate().map(one).chain([rich()]).collect()
}

/// A mixture whose members have indicators and transforms, and calibrated deviations.
fn rich() -> SavedModel {
    let (mut x, y) = data(60);
    (0..60).for_each(|i| x[(i, 1)] = (i % 3) as f64);
    let plain = StandardisedData::new(x.clone(), y).expect("data");
    let coded = plain.indicated().expect("inputs").expect("a code");
    let both = coded.warped(WarpKind::YeoJohnson).expect("targets").expect("enough of them");
    let mut config = config(3);
    config.architecture.n_inducing = 3;
    let member = |weight: f64, data: &StandardisedData| {
        let mut trainer = data.trainer(&config).expect("a trainer");
        trainer.run(&mut ());
        data.member(weight, trainer.fitted())
    };
    let members = vec![member(0.5, &both), member(0.3, &coded), member(0.2, &plain)];
    let record = Record::new(config.clone(), 60);
    let mut saved = SavedModel::new(preprocessing(&plain, &x), members, None, record).expect("networks");
    saved.std_factor = Some(1.2);
    saved
}

#[test]
fn a_sound_file_comes_back_to_the_last_bit() {
    for saved in variety() {
        let bytes = saved.to_bytes().expect("a file");
        let back = try_out(&bytes).expect("a model");
        assert_eq!(back, saved);
        assert_eq!(back.to_bytes(), Ok(bytes));
    }
}

#[test]
fn every_prefix_and_every_changed_byte_is_refused() {
    let bytes = variety()[0].to_bytes().expect("a file");
    for length in 0..bytes.len() {
        assert!(SavedModel::from_bytes(&bytes[..length]).is_err(), "{length} of {} bytes", bytes.len());
    }
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        assert!(SavedModel::from_bytes(&changed).is_err(), "byte {at} changed");
    }
}

/// All places of a JSON value.
fn places(value: &Value, here: String, all: &mut Vec<String>) {
    match value {
        Value::Array(list) => (0..list.len()).for_each(|i| places(&list[i], format!("{here}/{i}"), all)),
        Value::Object(map) => map
            .iter()
            .for_each(|(key, v)| places(v, format!("{here}/{}", key.replace('~', "~0").replace('/', "~1")), all)),
        _ => {}
    }
    all.push(here);
}

#[test]
fn any_value_of_the_header_can_be_anything() {
    let hostile = [
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(-1),
        json!(3),
        json!(u64::MAX),
        json!(1u64 << 40),
        json!(1e300),
        json!(-1e300),
        json!(1e-300),
        json!("NaN"),
        json!("x"),
        json!([]),
        json!({}),
        json!({"$f64": [0, 1]}),
        json!({"$f64": [0, 9]}),
        json!([[[[]]]]),
    ];
    for saved in variety() {
        let bytes = saved.to_bytes().expect("a file");
        let (text, floats) = unseal(&bytes).expect("a file");
        let sound: Value = serde_json::from_slice(text).expect("JSON");
        let mut all = Vec::new();
        places(&sound, String::new(), &mut all);
        for place in &all {
            for value in &hostile {
                let mut changed = sound.clone();
                *changed.pointer_mut(place).expect("a place") = value.clone();
                let _ = try_out(&seal(Kind::Model, changed.to_string().as_bytes(), floats));
            }
        }
    }
}

#[test]
fn any_number_can_be_anything() {
    for saved in variety() {
        let bytes = saved.to_bytes().expect("a file");
        let (text, floats) = unseal(&bytes).expect("a file");
        for at in (0..floats.len()).step_by(8) {
            let with = |value: f64| {
                let mut changed = floats.to_vec();
                changed[at..at + 8].copy_from_slice(&value.to_le_bytes());
                try_out(&seal(Kind::Model, text, &changed))
            };
            for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                assert!(with(value).is_err(), "{value} accepted as number {}", at / 8);
            }
            for value in [0.0, -0.0, -1.0, 1e-300, 5e-324, 1e10, 1e154, -1e154, 1e300, -1e300, f64::MAX] {
                let _ = with(value);
            }
        }
    }
}

/// The JSON of the first model with one change, and the message of the refusal.
fn refusal(place: &str, value: Value) -> String {
    let bytes = variety()[1].to_bytes().expect("a file");
    let (text, floats) = unseal(&bytes).expect("a file");
    let mut json: Value = serde_json::from_slice(text).expect("JSON");
    // What is there is replaced, what is not is added.
    let (parent, key) = place.rsplit_once('/').expect("a path");
    match json.pointer_mut(parent).expect(place) {
        Value::Array(all) => all[key.parse::<usize>().expect(key)] = value,
        parent => parent[key] = value,
    }
    let sealed = seal(Kind::Model, json.to_string().as_bytes(), floats);
    try_out(&sealed).expect_err(place).to_string()
}

#[test]
fn refusals_say_what_is_wrong() {
    let layer = "/body/fitted/model/layers/0";
    for (place, value, parts) in [
        (format!("{layer}/z/rows"), json!(1u64 << 60), &["fitted: model: layers: z: matrix entries", "found 6"][..]),
        (format!("{layer}/z/rows"), json!(2), &["z: matrix entries: expected 4, found 6"]),
        (format!("{layer}/dim_out"), json!(u64::MAX), &["inputs of a layer", "layer 1"]),
        (format!("{layer}/dim_out"), json!(0), &["width", "layer 0"]),
        (format!("{layer}/noise_var"), json!(-0.1), &["noise_var of layer 0: -0.1"]),
        (format!("{layer}/kernel"), json!({"cubic": {}}), &["unknown variant `cubic`", "matern"]),
        (format!("{layer}/kernel"), json!({"sum": {"parts": []}}), &["kernel inputs"]),
        ("/body/fitted/model/layers".into(), json!([]), &["layers", "0 rows"]),
        ("/body/fitted/factors".into(), json!([]), &["layers of the factors: expected 2, found 0"]),
        ("/body/fitted/inference/alpha".into(), json!(7), &["alpha: 7"]),
        ("/body/fitted/inference/jitter".into(), json!({"relative": -1}), &["jitter: -1"]),
        (
            "/body/preprocessing/schema/inputs".into(),
            json!([{"name": "one", "kind": {"number": {"mean": 0.0}}, "has_missing": false}]),
            &["features: expected 2, found 1"],
        ),
        ("/body/linear/noise_var".into(), json!([0.0]), &["noise_var of the linear model"]),
        ("/body/preprocessing/ranges".into(), json!([]), &["ranges of the inputs: expected 2, found 0"]),
        ("/body/preprocessing/schema/targets".into(), json!([]), &["it needs an input and a target"]),
        ("/body/preprocessing/targets/scale".into(), json!([-1.0]), &["preprocessing: targets: scale", "-1"]),
        ("/body/preprocessing/inputs/mean".into(), json!([1.0]), &["scales of a standardiser: expected 1, found 2"]),
        (
            "/body/indicators".into(),
            json!([{"input": 0, "values": [0.0, 1.0, 2.0]}]),
            &["features: expected 0, found 2"],
        ),
        ("/body/indicators".into(), json!([{"input": 0, "values": [2.0, 1.0]}]), &["few values must ascend"]),
        ("/body".into(), json!({}), &["body: missing field `preprocessing`"]),
    ] {
        let message = refusal(&place, value);
        assert!(parts.iter().all(|part| message.contains(part)), "{place}: {message}");
    }
}

#[test]
fn factors_must_be_symmetric_and_definite() {
    let mut saved = variety().remove(1);
    saved.members[0].fitted.factors[1][0].precision[(0, 1)] += 0.1;
    let message = SavedModel::from_bytes(&saved.to_bytes().expect("a file")).expect_err("asymmetric").to_string();
    assert!(message.contains("precision of a factor of layer 1"), "{message}");
    saved.members[0].fitted.factors[1][0].precision[(1, 0)] += 0.1;
    for i in 0..3 {
        saved.members[0].fitted.factors[1][0].precision[(i, i)] = -1.5;
    }
    let loaded = SavedModel::from_bytes(&saved.to_bytes().expect("a file")).expect("found by factoring only");
    let message = loaded.model().expect_err("no posterior").to_string();
    assert!(message.contains("I + Λ of layer 1 of output 0: not positive definite"), "{message}");
}

#[test]
fn sizes_beyond_reason_are_refused_before_they_are_used() {
    let mut config = Config { ..config(0) };
    config.architecture.n_inducing = 2;
    config.architecture.hidden = vec![];
    let text = |n: usize| {
        let ones = |n: usize| vec![1.0; n];
        json!({"spectral_mixture": {
            "weight": ones(n),
            "frequency": {"rows": n, "cols": 2, "data": ones(2 * n)},
            "lengthscale": {"rows": n, "cols": 2, "data": ones(2 * n)},
        }})
    };
    let bytes = saved(config).to_bytes().expect("a file");
    let (header, floats) = unseal(&bytes).expect("a file");
    let mut json: Value = serde_json::from_slice(header).expect("JSON");
    for (n, sound) in [(200, true), (201, false), (20_000, false)] {
        json["body"]["fitted"]["model"]["layers"][0]["kernel"] = text(n);
        let result = try_out(&seal(Kind::Model, json.to_string().as_bytes(), floats));
        assert_eq!(result.is_ok(), sound, "{n} components: {:?}", result.err());
    }
}

#[test]
fn checkpoints_are_no_models_and_survive_the_same() {
    let (x, y) = data(40);
    let data = StandardisedData::new(x.clone(), y.clone()).expect("data");
    let mut config = config(4);
    config.architecture.n_inducing = 3;
    let mut trainer = data.trainer(&config).expect("a trainer");
    trainer.run(&mut ());
    let checkpoint = Checkpoint {
        settings: ("table.csv".to_owned(), vec![1usize, 2]),
        preprocessing: preprocessing(&data, &x),
        snapshot: trainer.snapshot(),
        best: Some(Best { step: 2, score: -1.5, fitted: trainer.fitted() }),
        record: Record::new(config, 40),
    };
    let bytes = checkpoint.to_bytes().expect("a file");
    let load = Checkpoint::<(String, Vec<usize>)>::from_bytes;
    assert_eq!(load(&bytes), Ok(checkpoint.clone()));
    let wrong = SavedModel::from_bytes(&bytes).expect_err("a checkpoint").to_string();
    assert_eq!(wrong, "this is a checkpoint of an unfinished run, not a model file");

    let (text, floats) = unseal(&bytes).expect("a file");
    let sound: Value = serde_json::from_slice(text).expect("JSON");
    let mut all = Vec::new();
    places(&sound, String::new(), &mut all);
    for place in &all {
        for value in [
            json!(null),
            json!(0),
            json!(-1),
            json!(u64::MAX),
            json!(1e300),
            json!("inf"),
            json!([]),
            json!({"$f64": [0, 3]}),
        ] {
            let mut changed = sound.clone();
            *changed.pointer_mut(place).expect("a place") = value;
            if let Ok(checkpoint) = load(&seal(Kind::Checkpoint, changed.to_string().as_bytes(), floats))
                && let Ok(mut trainer) = data.resume(checkpoint.snapshot)
            {
                // A few steps at most: the number of iterations may have become anything.
                let last = trainer.snapshot().step().saturating_add(2);
                trainer.run(&mut |p: &deepgp::train::Progress<'_>| match p.step >= last {
                    true => std::ops::ControlFlow::Break(()),
                    false => std::ops::ControlFlow::Continue(()),
                });
            }
        }
    }
}

/// Writes what the fuzzer begins with.
#[test]
#[ignore = "it writes fuzz/corpus/model"]
fn seeds() {
    let folder = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/model");
    std::fs::create_dir_all(&folder).expect("a folder");
    let write = |name: String, bytes: &[u8], kind: Kind| {
        let (json, floats) = unseal(bytes).expect("a file");
        let json = json.trim_ascii_end();
        let length =
            u16::try_from(json.len()).expect("a short text") | if kind == Kind::Checkpoint { 0x8000 } else { 0 };
        let seed = [&length.to_le_bytes()[..], json, floats].concat();
        std::fs::write(folder.join(name), seed).expect("written");
    };
    for (i, saved) in variety().into_iter().enumerate() {
        write(format!("model{i}"), &saved.to_bytes().expect("a file"), Kind::Model);
    }
    for engine in [Engine::Sep(Site::FirstOrder), Engine::Ep, Engine::JointEnergy] {
        let (x, y) = data(4);
        let data = StandardisedData::new(x.clone(), y.clone()).expect("data");
        let mut config = config(2);
        config.architecture.n_inducing = 2;
        config.train.inference = InferenceSettings::of(engine);
        let mut trainer = data.trainer(&config).expect("a trainer");
        trainer.run(&mut ());
        let checkpoint = Checkpoint {
            settings: (),
            preprocessing: preprocessing(&data, &x),
            snapshot: trainer.snapshot(),
            best: Some(Best { step: 2, score: -1.5, fitted: trainer.fitted() }),
            record: Record::new(config, 4),
        };
        write(format!("checkpoint-{engine:?}"), &checkpoint.to_bytes().expect("a file"), Kind::Checkpoint);
    }
}
