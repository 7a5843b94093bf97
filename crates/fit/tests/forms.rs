//! Data whose form matters: a search finds the form, and the model keeps it.

use deepgp::Result;
use deepgp_fit::Stop;
use deepgp_fit::search::{Memory, SearchResult, SearchSettings, search};
use deepgp_numerics::linalg::Mat;
use deepgp_task::StandardisedData;
use std::sync::atomic::AtomicBool;

/// Levels of the code below, in an order that means nothing.
const EFFECTS: [f64; 6] = [0.0, 3.0, -2.0, 2.5, -3.0, 1.0];

/// A smooth curve along the first input, lifted by what the second, a code, stands for.
fn coded(rows: usize, shift: f64) -> (Mat, Mat) {
    let x = Mat::from_fn(rows, 2, |i, j| if j == 0 { (1.3 * i as f64 + shift).sin() } else { (i * 7 % 6) as f64 });
    let noise = |i: usize| 0.1 * (12.9898 * (i as f64 + shift)).sin();
    let y = Mat::from_fn(rows, 1, |i, _| (2.0 * x[(i, 0)]).sin() + EFFECTS[x[(i, 1)] as usize] + noise(i));
    (x, y)
}

/// A search that is quick.
fn quick(data: &StandardisedData) -> Result<SearchResult> {
    let settings = SearchSettings { effort: 0.08, ..SearchSettings::default() };
    let never = AtomicBool::new(false);
    search(data, &settings, &Memory::default(), &Stop::by(&never), &mut |_| ())
}

#[test]
fn a_code_is_not_taken_for_a_quantity() -> Result<()> {
    let (x, y) = coded(150, 0.0);
    let data = StandardisedData::new(x, y)?;
    let found = quick(&data)?;
    let score = |name: &str| {
        let tried = found.tried.iter().find(|tried| tried.name == name && tried.folds > 1);
        tried.and_then(|tried| tried.mean_log_density).expect(name)
    };
    let gain = score("exact GP, with indicators") - score("exact GP");
    // Measured: 0.15.
    assert!(gain > 0.1, "{gain}");
    assert!(found.members[0].indicators.is_some(), "{:#?}", found.tried);
    // Rows that were not there: the noise has a deviation of 0.07.
    let (x, y) = coded(90, 0.6);
    let scores = found.model(&data)?.score(&x, &y)?;
    assert!(scores.rmse().is_some_and(|rmse| rmse < 0.1), "{scores:?}");
    Ok(())
}

/// Whatever rows the folds lack, the model that is chosen is the one that is trained on all rows.
#[test]
fn values_that_few_rows_have_lose_no_member() -> Result<()> {
    for rare in 0..8 {
        let (mut x, mut y) = coded(100, 0.0);
        (x[(rare, 1)], y[(rare, 0)]) = (6.0 + rare as f64, 5.0);
        let data = StandardisedData::new(x, y)?;
        let found = quick(&data)?;
        let weights: Vec<f64> = found.members.iter().map(|member| member.weight).collect();
        assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{weights:?}");
        assert!(found.members[0].indicators.is_some(), "{:#?}", found.tried);
    }
    Ok(())
}
