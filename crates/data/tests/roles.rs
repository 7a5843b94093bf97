//! Columns that belong to rows: weights, exposures, known noise, groups, times, censoring, and what is carried through.

use deepgp_data::{
    Batch, Censored, DateOrder, Error, Header, Learnt, Notice, Place, ReadOptions, Result, Roles, RowColumns, Schema,
    Source, Targets,
};

fn source(text: &str) -> Source {
    Source::from_bytes("t.csv", text.as_bytes())
}

fn roles() -> Roles {
    Roles::predict(["y"])
}

fn named(name: &str) -> Option<String> {
    Some(name.to_owned())
}

fn learn(text: &str, roles: &Roles) -> Result<Learnt> {
    Schema::learn(&source(text), &ReadOptions::default(), roles)
}

fn read(schema: &Schema, text: &str, targets: Targets) -> Result<(Batch, Vec<Notice>)> {
    schema.read(&source(text), &ReadOptions::default(), targets)
}

fn fault(text: &str, roles: &Roles) -> String {
    learn(text, roles).map_or_else(|e| e.to_string(), |l| format!("no fault: {l:?}"))
}

/// NaN as −99, which can be compared.
fn marked(values: &[f64]) -> Vec<f64> {
    values.iter().map(|v| if v.is_nan() { -99.0 } else { *v }).collect()
}

const COUNTS: &str = "x,days,weight,who,when,sigma,id,y
1,10,1,ann,2024-01-03,0.5,r1,3
2,5,0,bob,2024-01-01,0.1,r2,9
3,2.5,2.5,bob,2024-01-02 12:00,0,r3,4
4,1,1,ann,2024-02-01,1,r4,
5,8,1,,2024-02-01,1,r5,7
6,4,3,NA,2023-12-31,2,r6,1
";

fn count_roles() -> Roles {
    Roles {
        weight: named("weight"),
        group: named("who"),
        time: named("when"),
        exposure: named("days"),
        noise_std: named("sigma"),
        keep: vec!["id".into(), "who".into()],
        exclude: vec!["when".into()],
        ..roles()
    }
}

#[test]
fn what_belongs_to_rows_comes_with_them() -> Result<()> {
    let learnt = learn(COUNTS, &count_roles())?;
    assert_eq!((learnt.schema.feature_names(), learnt.n_rows), (vec!["x".to_owned()], 4));
    let left_out = [Notice::RowsWithoutTarget { count: 1 }, Notice::RowsWithoutWeight { count: 1 }];
    assert_eq!(learnt.notices, left_out);
    let (batch, notices) = read(&learnt.schema, COUNTS, Targets::Required)?;
    assert_eq!((batch.rows.as_slice(), notices.as_slice()), (&[0, 2, 4, 5][..], &left_out[..]));
    assert_eq!((batch.inputs.column(0), batch.targets.column(0)), (vec![1.0, 3.0, 5.0, 6.0], vec![3.0, 4.0, 7.0, 1.0]));
    let day = 86_400.0;
    let expected = RowColumns {
        weight: vec![1.0, 2.5, 1.0, 3.0],
        exposure: vec![10.0, 2.5, 8.0, 4.0],
        noise_std: vec![0.5, 0.0, 1.0, 2.0],
        // Rows without a group have one of their own.
        group: vec![0, 1, 2, 3],
        time: [19_725.0, 19_724.5, 19_754.0, 19_722.0].map(|days| days * day).to_vec(),
        keep: vec![
            ["r1", "r3", "r5", "r6"].map(str::to_owned).to_vec(),
            ["ann", "bob", "", "NA"].map(str::to_owned).to_vec(),
        ],
        ..RowColumns::default()
    };
    assert_eq!(batch.columns, expected);
    let part = batch.part(1..3).columns;
    assert_eq!((part.group, part.keep[0].as_slice()), (vec![1, 2], &["r3".to_owned(), "r5".to_owned()][..]));
    assert!(part.lower.is_empty());

    let (all, _) = read(&learnt.schema, COUNTS, Targets::Optional)?;
    assert_eq!(
        (all.columns.weight.len(), all.columns.weight[1], all.columns.group[..4].to_vec()),
        (6, 0.0, vec![0, 1, 1, 0])
    );
    Ok(())
}

#[test]
fn prediction_needs_what_is_kept_and_does_without_the_rest() -> Result<()> {
    let schema = learn(COUNTS, &count_roles())?.schema;
    let (batch, notices) = read(&schema, "id,who,x\na,b,4\nc,,5\n", Targets::Ignored)?;
    let taken = |column: &str, value| Notice::TakenAs { column: column.into(), value };
    assert_eq!(notices, [taken("days", 1.0), taken("sigma", 0.0)]);
    assert_eq!(notices[0].to_string(), r#"there is no column "days": taken as 1 in every row"#);
    let expected = RowColumns {
        exposure: vec![1.0; 2],
        noise_std: vec![0.0; 2],
        keep: vec![vec!["a".into(), "c".into()], vec!["b".into(), String::new()]],
        ..RowColumns::default()
    };
    assert_eq!(batch.columns, expected);
    let missing = read(&schema, "ld,who,x\na,b,4\n", Targets::Ignored);
    assert_eq!(
        missing.map_or_else(|e| e.to_string(), |_| String::new()),
        r#"t.csv: column "id" not found; did you mean "ld"?"#
    );
    // A table to be scored may lack weights, groups and times.
    let (batch, _) = read(&schema, "id,who,x,y,days\na,b,4,2,3\n", Targets::Required)?;
    assert_eq!((batch.columns.exposure, batch.columns.weight, batch.columns.group), (vec![3.0], vec![], vec![0]));
    let bad = read(&schema, "id,who,x,days\na,b,4,0\n", Targets::Ignored);
    assert!(matches!(bad, Err(Error::RoleCell { place: Place::Line(2), role: "an exposure", .. })));
    Ok(())
}

#[test]
fn cells_are_checked() {
    let row = |cells: &str| format!("x,days,weight,who,when,sigma,id,y\n1,1,1,a,2024-01-01,1,r,1\n{cells}\n");
    for (cells, said) in [
        (
            "1,1,-1,a,2024-01-01,1,r,1",
            r#"line 3, column "weight": "-1" is not a weight; a weight is a positive number"#,
        ),
        ("1,1,,a,2024-01-01,1,r,1", r#"column "weight": "" is not a weight"#),
        ("1,1,inf,a,2024-01-01,1,r,1", "infinite values cannot be used"),
        ("1,0,1,a,2024-01-01,1,r,1", r#"column "days": "0" is not an exposure; an exposure is a positive number"#),
        ("1,ten,1,a,2024-01-01,1,r,1", r#""ten" is not an exposure"#),
        ("1,1,1,a,2024-01-01,-0.5,r,1", r#"column "sigma": "-0.5" is not a standard deviation"#),
        ("1,1,1,a,soon,1,r,1", r#"column "when": "soon" is not a time"#),
        ("1,1,1,a,,1,r,1", r#"column "when": "" is not a time"#),
        ("1,1,1,a,17,1,r,1", r#"column "when": "17" is not a time"#),
    ] {
        let found = fault(&row(cells), &count_roles());
        assert!(found.starts_with("t.csv, line 3, column ") && found.contains(said), "{found}");
    }
    // Rows that are left out need not be in order.
    assert!(learn(&row("2,ten,x,,,,,\n3,2,1,a,2024-01-01,1,r,1"), &count_roles()).is_ok());
    let none = "x,w,y\n1,0,1\n2,0,2\n";
    assert_eq!(
        fault(none, &Roles { weight: named("w"), ..roles() }),
        "t.csv: no rows with a target and a positive weight found"
    );
}

#[test]
fn times_are_numbers_or_dates_of_one_order() -> Result<()> {
    let table = |cells: [&str; 3]| format!("x,t,y\n1,{},1\n2,{},2\n3,{},4\n", cells[0], cells[1], cells[2]);
    let timed = Roles { time: named("t"), exclude: vec!["t".into()], ..roles() };
    let times = |cells| {
        let learnt = learn(&table(cells), &timed)?;
        let (batch, _) = read(&learnt.schema, &table(cells), Targets::Required)?;
        assert_eq!(learnt.schema.feature_names(), ["x"]);
        Ok::<_, Error>((learnt.schema.role_columns().time_order, batch.columns.time))
    };
    assert_eq!(times(["3", "2.5", "-1"])?, (None, vec![3.0, 2.5, -1.0]));
    let days = |days: [f64; 3]| days.map(|day| day * 86_400.0).to_vec();
    let known = times(["01/02/1970", "13/01/1970", "02.01.1970"])?;
    assert_eq!(known, (Some(DateOrder::DayFirst), days([31.0, 12.0, 1.0])));
    assert_eq!(times(["01/02/1970", "01/13/1970", "1970-01-02"])?.1, days([1.0, 12.0, 1.0]));
    let ambiguous = times(["01/02/1970", "02/03/1970", "02/04/1970"]);
    assert!(matches!(ambiguous, Err(Error::AmbiguousDates { text, .. }) if text == "01/02/1970"));
    // The time is an input, too, unless it is excluded.
    let both = Roles { exclude: Vec::new(), ..timed.clone() };
    assert_eq!(learn(&table(["3", "2.5", "-1"]), &both)?.schema.feature_names(), ["x", "t"]);
    let named = Roles { inputs: Some(vec!["t".into(), "x".into()]), ..both };
    assert_eq!(learn(&table(["3", "2.5", "-1"]), &named)?.schema.feature_names(), ["t", "x"]);
    Ok(())
}

#[test]
fn marks_of_censoring_are_understood() -> Result<()> {
    use Censored::{Left, None as Exact, Right};
    let marks = [
        ("", Exact),
        ("0", Exact),
        ("No", Exact),
        ("none", Exact),
        ("FALSE", Exact),
        ("1", Right),
        ("yes", Right),
        ("True", Right),
        ("right", Right),
        (">", Right),
        ("left", Left),
        ("<", Left),
        ("1.0", Right),
    ];
    let rows: String = marks.iter().enumerate().map(|(i, (mark, _))| format!("{i},{mark},{}\n", i + 5)).collect();
    let text = format!("x,ended,y\n{rows}");
    let censored = Roles { censored: named("ended"), ..roles() };
    let schema = learn(&text, &censored)?.schema;
    let (batch, _) = read(&schema, &text, Targets::Required)?;
    assert_eq!(batch.columns.censored, marks.map(|(_, how)| how));
    assert_eq!(batch.targets.rows(), marks.len());
    assert!(fault("x,ended,y\n1,0,2\n2,maybe,3\n", &censored).contains(r#""maybe" is not a mark of censoring; where"#));
    // Where targets are read, so is this; where they are not, it need not be there.
    assert!(matches!(read(&schema, "x,y\n1,2\n", Targets::Required), Err(Error::NoColumn { .. })));
    assert!(read(&schema, "x\n1\n", Targets::Ignored)?.0.columns == RowColumns::default());
    Ok(())
}

#[test]
fn bounds_tell_a_target() -> Result<()> {
    let bounded = Roles { lower: named("lo"), upper: named("hi"), ..roles() };
    let text = "x,lo,hi,y\n1,,,5\n2,1,,\n3,,4,\n4,,,\n5,2,3,2.5\n6,7,7,\n7,-inf,inf,1\n";
    let learnt = learn(text, &bounded)?;
    assert_eq!(
        (learnt.n_rows, learnt.targets[0].n_numbers, learnt.schema.feature_names()),
        (6, 3, vec!["x".to_owned()])
    );
    let (batch, notices) = read(&learnt.schema, text, Targets::Required)?;
    assert_eq!((batch.rows, notices), (vec![0, 1, 2, 4, 5, 6], vec![Notice::RowsWithoutTarget { count: 1 }]));
    assert_eq!(marked(&batch.targets.column(0)), [5.0, -99.0, -99.0, 2.5, 7.0, 1.0]);
    assert_eq!(marked(&batch.columns.lower), [-99.0, 1.0, -99.0, 2.0, 7.0, -99.0]);
    assert_eq!(marked(&batch.columns.upper), [-99.0, -99.0, 4.0, 3.0, 7.0, -99.0]);

    // Without a column of the target's name, or with a bound in its place.
    let alone = "x,lo,hi\n1,2,\n2,,3\n3,,\n4,5,5\n";
    let learnt = learn(alone, &bounded)?;
    assert_eq!((learnt.n_rows, learnt.schema.targets()), (3, &["y".to_owned()][..]));
    let (batch, _) = read(&learnt.schema, alone, Targets::Required)?;
    assert_eq!(marked(&batch.targets.column(0)), [-99.0, -99.0, 5.0]);
    let (batch, _) = read(&learnt.schema, alone, Targets::Optional)?;
    assert_eq!((marked(&batch.targets.column(0)), batch.columns.upper.len()), (vec![-99.0, -99.0, -99.0, 5.0], 4));
    let same = Roles { lower: named("lo"), upper: named("hi"), ..Roles::predict(["lo"]) };
    let learnt = learn(alone, &same)?;
    let (batch, _) = read(&learnt.schema, alone, Targets::Required)?;
    assert_eq!((marked(&batch.targets.column(0)), learnt.n_rows), (vec![2.0, -99.0, 5.0], 3));

    assert_eq!(
        fault("x,lo,hi,y\n1,1,2,\n2,3,2,\n", &bounded),
        r#"t.csv, line 3: the lower bound 3 (column "lo") is above the upper bound 2 (column "hi")"#
    );
    assert!(fault("x,lo,hi,y\n1,1,2,\n2,inf,,\n", &bounded).contains("is not a bound; infinite"));
    assert!(fault("x,lo,hi,y\n1,1,2,\n2,low,,\n", &bounded).contains(r#""low" is not a bound; a bound is a number"#));
    assert!(fault(alone, &Roles { lower: named("lo"), ..Roles::predict(["z"]) }).contains("no fault"));
    Ok(())
}

#[test]
fn roles_that_exclude_each_other_are_refused() {
    let text = "x,a,b,y,z\n1,1,1,1,1\n2,1,2,3,4\n";
    let two = |roles: Roles| matches!(learn(text, &roles), Err(Error::TwoRoles { .. }));
    let inputs = Some(vec!["x".to_owned(), "a".to_owned()]);
    assert!(two(Roles { weight: named("a"), inputs: inputs.clone(), ..roles() }));
    assert!(two(Roles { group: named("a"), inputs: inputs.clone(), ..roles() }));
    assert!(two(Roles { keep: vec!["a".into()], inputs, ..roles() }));
    assert!(two(Roles { weight: named("a"), exposure: named("a"), ..roles() }));
    assert!(two(Roles { weight: named("y"), ..roles() }));
    assert!(two(Roles { censored: named("a"), lower: named("b"), ..roles() }));
    assert!(two(Roles { lower: named("a"), upper: named("a"), ..roles() }));
    let several = Roles { censored: named("a"), ..Roles::predict(["y", "z"]) };
    assert!(matches!(learn(text, &several), Err(Error::SeveralTargets { .. })));
    assert!(fault(text, &Roles { weight: named("A"), ..roles() }).contains(r#"did you mean "a"?"#));
    assert!(matches!(
        learn(text, &Roles { keep: vec!["a".into(), "a".into()], ..roles() }),
        Err(Error::RepeatedName { .. })
    ));
    // A group or a time may be carried through, too.
    assert!(
        learn(text, &Roles { group: named("a"), time: named("b"), keep: vec!["a".into(), "b".into()], ..roles() })
            .is_ok()
    );
}

#[test]
fn roles_are_kept_in_files() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let schema = learn(COUNTS, &count_roles())?.schema;
    let text = serde_json::to_string(&schema)?;
    assert_eq!(serde_json::from_str::<Schema>(&text)?, schema);
    assert!(text.contains(r#""roles":{"weight":"weight","group":"who","time":"when","exposure":"days""#), "{text}");
    let plain = learn(COUNTS, &roles())?.schema;
    assert!(!serde_json::to_string(&plain)?.contains("roles"));
    assert!(serde_json::from_str::<Schema>(&text.replace(r#""exposure":"days""#, r#""exposure":"x""#)).is_err());
    Ok(())
}

#[test]
fn without_headers_roles_are_found_by_position() -> Result<()> {
    let options = ReadOptions { header: Header::No, ..ReadOptions::default() };
    let roles = Roles { weight: named("c3"), exposure: named("c2"), ..Roles::predict(["c4"]) };
    let text = "1,10,1,5\n2,20,1,6\n3,30,2,8\n";
    let schema = Schema::learn(&source(text), &options, &roles)?.schema;
    for new in ["4,5,1,9\n", "4,5,1\n", "4,5\n"] {
        let (batch, _) = schema.read(&source(new), &options, Targets::Ignored)?;
        assert_eq!((batch.inputs.row(0), batch.columns.exposure), (&[4.0][..], vec![5.0]), "{new}");
    }
    assert!(matches!(schema.read(&source("4\n"), &options, Targets::Ignored), Err(Error::ColumnCount { .. })));
    Ok(())
}
