//! Reports of data that nobody would wish for: every figure is well formed, finite, legible and of moderate size.

use deepgp_report::plot::{Anchor, Item, Scene};
use deepgp_report::{
    Better, CurvePoint, HiddenCloud, HiddenNet, HiddenPath, LayerView, Report, ScoreTable, Slice, Surface,
    TargetResults, UnitUse,
};
use proptest::prelude::*;

/// A report of `n` rows and `d` columns whose numbers come from `value` and whose names are all `name`.
fn report(n: usize, d: usize, name: &str, value: impl Fn(usize) -> f64) -> Report {
    let list = |salt: usize, n: usize| (0..n).map(|i| value(31 * i + salt)).collect::<Vec<f64>>();
    let positive = |salt: usize, n: usize| list(salt, n).into_iter().map(f64::abs).collect::<Vec<f64>>();
    let share = |salt: usize, n: usize| (0..n).map(|i| ((31 * i + salt) as f64 * 0.618).fract()).collect::<Vec<f64>>();
    let name = name.to_owned();
    let target = TargetResults {
        name: name.clone(),
        observed: list(1, n),
        mean: list(2, n),
        std: positive(3, n),
        interval: [list(2, n), list(5, n)],
        pit: share(4, n),
    };
    let slice = |discrete| Slice {
        column: name.clone(),
        target: name.clone(),
        x: list(5, 20),
        mean: list(6, 20),
        function: [positive(7, 20), positive(9, 20)],
        observation: [positive(8, 20), positive(10, 20)],
        observed: (list(9, n), list(10, n)),
        discrete,
    };
    let unit = |i| UnitUse { spread: value(i).abs(), noise: value(i + 1).abs(), reach: value(i + 2).abs() };
    let points = |salt| list(salt, 9).into_iter().zip(list(salt + 1, 9)).collect::<Vec<(f64, f64)>>();
    let layer = LayerView {
        layer: 1,
        units: (0..3).map(unit).collect(),
        path: Some(HiddenPath {
            column: name.clone(),
            at: list(11, 20),
            mean: (0..3).map(|u| list(u, 20)).collect(),
            std: (0..3).map(|u| positive(u, 20)).collect(),
            stretch: positive(12, 20),
        }),
        net: Some(HiddenNet {
            columns: [name.clone(), name.clone()],
            units: [0, 2],
            along_first: vec![points(1), points(2)],
            along_second: vec![points(3)],
        }),
        cloud: Some(HiddenCloud {
            units: [0, 2],
            mean: [list(13, n), list(14, n)],
            std: [positive(15, n), positive(16, n)],
            target: name.clone(),
            value: list(17, n),
        }),
    };
    Report {
        title: name.clone(),
        summary: vec![(name.clone(), name.clone())],
        notes: vec![name.clone()],
        scores: ScoreTable {
            columns: vec![(name.clone(), Better::Lower), (name.clone(), Better::Near(0.95))],
            rows: vec![(name.clone(), vec![Some(value(0)), None]), (name.clone(), vec![Some(f64::NAN)])],
        },
        curve: (0..n)
            .map(|i| CurvePoint { step: i, energy: value(i), valid_rmse: Some(value(i)), ..Default::default() })
            .collect(),
        targets: vec![target.clone(), target],
        relevance: (0..d).map(|i| (name.clone(), value(i).abs())).collect(),
        layers: vec![layer],
        slices: (0..d.min(6)).map(|i| slice(i % 2 == 1)).collect(),
        labels: None,
        surface: Some(Surface {
            labels: Vec::new(),
            shows: Default::default(),
            columns: [name.clone(), name.clone()],
            target: name.clone(),
            edges: [list(18, 5), list(19, 5)],
            mean: list(20, 16),
            std: positive(21, 16),
        }),
        settings: vec![(name.clone(), name)],
    }
}

/// Boxes of the texts of a scene, and a check that every coordinate is a number near the page.
fn texts(items: &[Item], boxes: &mut Vec<(String, [f64; 4])>) {
    let near = |p: &(f64, f64)| p.0.abs() < 2e4 && p.1.abs() < 2e4;
    for item in items {
        match item {
            Item::Path { lines, .. } => assert!(lines.iter().flatten().all(near)),
            Item::Discs { centres, .. } => assert!(centres.iter().all(|c| near(&c.0))),
            Item::Ellipses { ellipses, .. } => assert!(ellipses.iter().all(|(c, r)| near(c) && near(r))),
            Item::Clipped(_, items) => texts(items, boxes),
            Item::Text(t) => {
                assert!(near(&t.at));
                // Digits and letters are about half as wide as they are high: a lower bound that cannot accuse wrongly.
                let (w, h) = (0.42 * t.size * t.text.chars().count() as f64, 0.6 * t.size);
                let start = match t.anchor {
                    Anchor::Start => 0.0,
                    Anchor::Middle => -0.5 * w,
                    Anchor::End => -w,
                };
                let (x, y) = t.at;
                let corners =
                    if t.upwards { [x - h, y - start - w, x, y - start] } else { [x + start, y - h, x + start + w, y] };
                boxes.push((t.text.clone(), corners));
            }
        }
    }
}

fn check_scene(scene: &Scene) {
    let mut boxes = Vec::new();
    texts(&scene.items, &mut boxes);
    for (i, (a, p)) in boxes.iter().enumerate() {
        let inside = p[0] > -1.0 && p[1] > -1.0 && p[2] < scene.width + 1.0 && p[3] < scene.height + 1.0;
        assert!(inside, "{a:?} leaves the picture: {p:?} of {} × {}", scene.width, scene.height);
        for (b, q) in &boxes[i + 1..] {
            let overlap = p[0] < q[2] && q[0] < p[2] && p[1] < q[3] && q[1] < p[3];
            assert!(!overlap, "{a:?} at {p:?} lies on {b:?} at {q:?}");
        }
    }
}

fn check(report: &Report) {
    check_part(report, str::to_owned);
}

/// The tags of a page or picture without the text between them and without labels: there a name may say what it likes.
fn tags(page: &str) -> String {
    let tags = page.split('<').filter_map(|s| s.split_once('>')).map(|(tag, _)| tag);
    let unlabelled = tags.map(|tag| {
        let (before, label) = tag.split_once(" aria-label=\"").unwrap_or((tag, "\""));
        format!("<{before}{}>", label.split_once('"').expect("a label ends").1)
    });
    unlabelled.collect()
}

/// Checks a report, and that no part of its page and pictures that `part` leaves is wrong.
fn check_part(report: &Report, part: fn(&str) -> String) {
    let html = report.html();
    assert!(html.len() < 3_000_000, "{} bytes", html.len());
    let html = part(&html);
    assert!(!html.contains("NaN\"") && !html.contains("inf\"") && !html.contains("<script"));
    // Nothing to fetch: the only address is the name of the SVG language.
    let addresses = html.replace("http://www.w3.org/2000/svg", "");
    assert!(!addresses.contains("://") && !addresses.contains(" src=") && !addresses.contains("url("));
    for figure in report.figures() {
        let svg = figure.svg();
        assert!(roxmltree::Document::parse(&svg).is_ok(), "{}: {:?}", figure.name, roxmltree::Document::parse(&svg));
        let svg = part(&svg);
        assert!(!svg.contains("NaN") && !svg.contains("inf "));
        check_scene(&figure.scene(true));
    }
}

fn wavy(i: usize) -> f64 {
    (i as f64 * 0.37).sin() + 0.1 * (i as f64 * 7.3).cos()
}

#[test]
fn ordinary_data() {
    let report = report(300, 8, "depth (m)", wavy);
    check(&report);
    let names: Vec<String> = report.figures().into_iter().map(|f| f.name).collect();
    let expected = [
        "accuracy-1",
        "accuracy-2",
        "calibration-1",
        "calibration-2",
        "slices-1",
        "surface",
        "relevance",
        "layer-1-path",
        "layer-1-map",
        "layer-1-units",
        "training",
    ];
    assert_eq!(names, expected);
}

#[test]
fn one_row_and_none() {
    check(&report(1, 1, "x", wavy));
    check(&report(0, 0, "", wavy));
    check(&Report::default());
    assert!(Report::default().figures().is_empty());
}

#[test]
fn constants_and_extremes() {
    for c in [0.0, 1.0, -5.0, 1e300, -1e308, 1e-300, 5e-324] {
        check(&report(40, 3, "x", |_| c));
    }
    for scale in [1e300, 1e-300, 1e12, 1e-12] {
        check(&report(40, 3, "x", |i| scale * wavy(i)));
    }
    // Differences in the last digits only.
    check(&report(40, 3, "x", |i| 1e6 + 1e-2 * wavy(i)));
    check(&report(40, 3, "x", |i| 1.0 + 1e-15 * wavy(i)));
}

#[test]
fn what_is_not_a_number_is_left_out() {
    check(&report(40, 3, "x", |_| f64::NAN));
    check(&report(40, 3, "x", |i| if i % 3 == 0 { f64::INFINITY } else { wavy(i) }));
    check(&report(40, 3, "x", |i| if i % 2 == 0 { f64::NEG_INFINITY } else { f64::MAX }));
}

#[test]
fn names_of_every_kind() {
    let long = "a column with a name that goes on and on & <on> ".repeat(5);
    for name in ["", "<b>&\"'</b>", "температура воды", "水温", "x\u{0}y\u{7f}", "👩‍🔬", long.as_str()]
    {
        check(&report(30, 8, name, wavy));
        check(&report(30, 8, name, |i| 1e9 * wavy(i)));
    }
}

#[test]
fn a_hundred_thousand_rows_and_a_thousand_columns() {
    let report = report(100_000, 1000, "column", wavy);
    check(&report);
    let page = report.html();
    assert!(page.contains("The 30 most relevant of 1000 columns are shown"));
}

#[test]
fn files_are_written() -> std::io::Result<()> {
    let folder = std::env::temp_dir().join(format!("deepgp-report-{}", std::process::id()));
    let files = report(30, 2, "x", wavy).write_figures(&folder)?;
    assert_eq!(files.len(), 22);
    for file in &files {
        let bytes = std::fs::read(file)?;
        let start: &[u8] = if file.extension().is_some_and(|e| e == "png") { b"\x89PNG" } else { b"<svg" };
        assert!(bytes.starts_with(start), "{}", file.display());
    }
    std::fs::remove_dir_all(folder)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_numbers_and_names(numbers in prop::collection::vec(any::<f64>(), 1..40), name in "\\PC{0,60}", n in 0..30_usize, d in 0..5_usize) {
        check_part(&report(n, d, &name, |i| numbers[i % numbers.len()]), tags);
    }
}
