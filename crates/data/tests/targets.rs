//! What target columns hold, and labels as numbers.

use deepgp_data::{
    Batch, Error, Learnt, Notice, Place, ReadOptions, Result, Roles, Schema, Source, TargetSummary, Targets,
};

fn source(text: &str) -> Source {
    Source::from_bytes("t.csv", text.as_bytes())
}

fn learn_with(text: &str, roles: &Roles) -> Result<Learnt> {
    Schema::learn(&source(text), &ReadOptions::default(), roles)
}

fn learn(text: &str) -> Result<Learnt> {
    learn_with(text, &Roles::predict(["y"]))
}

fn read(schema: &Schema, text: &str, targets: Targets) -> Result<(Batch, Vec<Notice>)> {
    schema.read(&source(text), &ReadOptions::default(), targets)
}

/// A table whose target has these cells.
fn table(cells: &[&str]) -> String {
    let rows = cells.iter().enumerate().map(|(i, cell)| format!("{},{cell}\n", i * i));
    std::iter::once("x,y\n".to_owned()).chain(rows).collect()
}

fn summary(cells: &[&str]) -> Result<TargetSummary> {
    Ok(learn(&table(cells))?.targets.remove(0))
}

fn levels(target: &TargetSummary) -> Vec<(&str, Option<f64>, u64)> {
    target.levels.iter().map(|level| (level.text.as_str(), level.value, level.count)).collect()
}

#[test]
fn a_target_is_described() -> Result<()> {
    let counts = summary(&["3", "0", "03", "", "12", "0"])?;
    assert_eq!((counts.name.as_str(), counts.n_cells, counts.n_missing, counts.n_numbers), ("y", 5, 1, 5));
    assert!(counts.is_numeric() && counts.is_whole && !counts.is_positive() && !counts.is_in_unit_interval());
    assert_eq!((counts.low, counts.high, counts.has_more_levels), (0.0, 12.0, false));
    assert_eq!(levels(&counts), [("0", Some(0.0), 2), ("3", Some(3.0), 2), ("12", Some(12.0), 1)]);
    assert!(counts.require_numbers().is_ok() && counts.first_text.is_none() && counts.boolean_levels().is_none());

    let shares = summary(&["0.5", "1", "0.25"])?;
    assert!(!shares.is_whole && shares.is_positive() && shares.is_in_unit_interval());

    let words = summary(&["red", "1", "blue", "01", "red"])?;
    assert_eq!(levels(&words), [("01", Some(1.0), 1), ("1", Some(1.0), 1), ("blue", None, 1), ("red", None, 2)]);
    assert_eq!((words.is_numeric(), words.first_text.clone()), (false, Some((Place::Line(2), "red".into()))));
    assert!(matches!(words.require_numbers(), Err(Error::TextTarget { place: Place::Line(2), .. })));

    let many: Vec<String> = (0..3000).map(|i| format!("{i}.5")).collect();
    let many = summary(&many.iter().map(String::as_str).collect::<Vec<_>>())?;
    assert_eq!((many.levels.len(), many.has_more_levels, many.n_cells, many.high), (1000, true, 3000, 2999.5));
    let prose = "word ".repeat(50);
    assert!(summary(&["a", &prose, "b"])?.has_more_levels);
    Ok(())
}

#[test]
fn words_for_no_and_yes_are_known() -> Result<()> {
    for (cells, expected) in [
        (&["TRUE", "False", "true", "true"][..], Some(["False", "true"])),
        (&["yes", "no"], Some(["no", "yes"])),
        (&["Y", "n"], Some(["n", "Y"])),
        (&["t", "f", "t"], Some(["f", "t"])),
        (&["1", "0", "0.0"], Some(["0", "1"])),
        (&["yes", "yes"], None),
        (&["yes", "false"], None),
        (&["yes", "no", "maybe"], None),
        (&["0", "1", "2"], None),
    ] {
        assert_eq!(summary(cells)?.boolean_levels(), expected, "{cells:?}");
    }
    Ok(())
}

#[test]
fn a_slip_in_a_column_of_numbers_is_an_error_unless_these_are_labels() -> Result<()> {
    let cells = table(&["1", "2", "3", "2a", "1"]);
    let said = learn(&cells).map_or_else(|e| e.to_string(), |_| String::new());
    assert_eq!(said, r#"t.csv, line 5, column "y": "2a" is not a finite number"#);
    let roles = Roles { labels: vec!["y".into()], ..Roles::predict(["y"]) };
    let learnt = learn_with(&cells, &roles)?;
    assert_eq!(levels(&learnt.targets[0]).len(), 4);
    assert!(matches!(learnt.targets[0].require_numbers(), Err(Error::NotANumber { place: Place::Line(5), .. })));
    assert!(matches!(learn(&table(&["1,5", "2,5"])), Err(Error::Ragged { .. })));
    assert!(learn(&table(&["5%", "7%"])).is_err_and(|e| e.to_string().contains("without its unit")));
    assert!(learn(&table(&["1", "inf", "2"])).is_err_and(|e| e.to_string().contains("infinite")));
    let other = Roles { labels: vec!["x".into()], ..Roles::predict(["y"]) };
    assert!(matches!(learn_with(&cells, &other), Err(Error::TwoRoles { .. })));
    Ok(())
}

#[test]
fn labels_become_the_numbers_of_their_levels() -> Result<()> {
    let training = table(&["b", "a", "", "c", "a"]);
    let schema = learn(&training)?.schema;
    assert_eq!((schema.targets(), schema.target_levels(0)), (&["y".to_owned()][..], None));
    let schema = schema.with_labels("y", ["c", "a", "b"].map(str::to_owned).to_vec())?;
    assert_eq!(schema.target_levels(0).map(<[String]>::len), Some(3));
    let (batch, notices) = read(&schema, &training, Targets::Required)?;
    assert_eq!((batch.targets.column(0), batch.rows), (vec![2.0, 1.0, 0.0, 1.0], vec![0, 1, 3, 4]));
    assert_eq!(notices, [Notice::RowsWithoutTarget { count: 1 }]);

    let new = table(&["d", "a", "", "d", " c "]);
    let unknown = |is_left_out| Notice::UnknownLabel { column: "y".into(), level: "d".into(), count: 2, is_left_out };
    let (batch, notices) = read(&schema, &new, Targets::Required)?;
    assert_eq!((batch.targets.column(0), batch.rows, batch.inputs.rows()), (vec![1.0, 0.0], vec![1, 4], 2));
    assert_eq!(notices, [Notice::RowsWithoutTarget { count: 1 }, unknown(true)]);
    assert_eq!(notices[1].to_string(), r#"2 rows left out: training had no "y" such as "d""#);
    let (batch, notices) = read(&schema, &new, Targets::Optional)?;
    let is_nan: Vec<bool> = batch.targets.column(0).iter().map(|level| level.is_nan()).collect();
    assert_eq!((is_nan, notices), (vec![true, false, true, true, false], vec![unknown(false)]));
    assert!(matches!(read(&schema, &table(&["d", "e"]), Targets::Required), Err(Error::Empty { .. })));
    Ok(())
}

#[test]
fn labels_are_kept_in_files() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let plain = learn(&table(&["1", "2", "3"]))?.schema;
    let text = serde_json::to_string(&plain)?;
    assert!(!text.contains("labels"), "plain numbers are stored as ever: {text}");
    let schema = plain.clone().with_labels("y", vec!["1".into(), "3".into(), "2".into()])?;
    let text = serde_json::to_string(&schema)?;
    assert!(text.contains(r#""labels":[{"target":"y","levels":["1","3","2"]}]"#), "{text}");
    assert_eq!(serde_json::from_str::<Schema>(&text)?, schema);
    for (from, to) in [(r#""target":"y""#, r#""target":"x""#), (r#""2"]"#, r#""1.0"]"#), (r#"["1","3","2"]"#, "[]")] {
        assert!(serde_json::from_str::<Schema>(&text.replace(from, to)).is_err(), "{to}");
    }
    assert!(matches!(plain.with_labels("z", vec!["1".into()]), Err(Error::Schema { .. })));
    Ok(())
}
