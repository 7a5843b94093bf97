//! Dates and times become features.

use deepgp_data::{
    Batch, DateOrder, Error, Kind, Learnt, Notice, Place, ReadOptions, Result, Roles, Schema, Source, Targets, TimePart,
};

fn source(text: &str) -> Source {
    Source::from_bytes("t.csv", text.as_bytes())
}

fn learn(text: &str) -> Result<Learnt> {
    Schema::learn(&source(text), &ReadOptions::default(), &Roles::predict(["y"]))
}

fn read(schema: &Schema, text: &str) -> Result<(Batch, Vec<Notice>)> {
    schema.read(&source(text), &ReadOptions::default(), Targets::Ignored)
}

/// A table with a column `d` of these cells.
fn table(cells: &[&str]) -> String {
    let rows = cells.iter().enumerate().map(|(i, cell)| format!("{},{cell},{i}\n", i * i));
    std::iter::once("x,d,y\n".to_owned()).chain(rows).collect()
}

/// Names of the features of `d`, and their values row by row.
fn features(cells: &[&str]) -> Result<(Vec<String>, Vec<Vec<f64>>)> {
    let learnt = learn(&table(cells))?;
    let (batch, _) = read(&learnt.schema, &table(cells))?;
    let rows = (0..cells.len()).map(|row| batch.inputs.row(row)[1..].to_vec()).collect();
    Ok((learnt.schema.feature_names().split_off(1), rows))
}

#[test]
fn dates_become_what_varies_of_them() -> Result<()> {
    let (names, rows) = features(&["2024-02-29", "2023-12-31", "2024-01-15"])?;
    assert_eq!(names, ["d.year", "d.month", "d.day", "d.weekday", "d.days"]);
    let expected = [[2024.0, 2.0, 29.0, 4.0, 60.0], [2023.0, 12.0, 31.0, 7.0, 0.0], [2024.0, 1.0, 15.0, 1.0, 15.0]];
    assert_eq!(rows, expected);
    let (names, rows) = features(&["2024-01-15 10:30", "2024-01-15 23:45:36", "2024-01-15T00:00:00"])?;
    assert_eq!((names, rows), (vec!["d.hour".to_owned()], vec![vec![10.5], vec![23.76], vec![0.0]]));
    let (names, rows) = features(&["2024/01/15 06:00", "2024/01/16 12:00", "2024/01/17"])?;
    assert_eq!(names, ["d.day", "d.weekday", "d.hour", "d.days"]);
    assert_eq!(rows, [[15.0, 1.0, 6.0, 0.25], [16.0, 2.0, 12.0, 1.5], [17.0, 3.0, 0.0, 2.0]]);
    // Months of one year, where the day of the week says nothing.
    assert_eq!(features(&["01.01.2024", "01.02.2024", "01.03.2024"])?.0, ["d.month", "d.days"]);
    assert_eq!(
        features(&["10:30", "9:00", "23:59:30"])?,
        (vec!["d.hour".into()], vec![vec![10.5], vec![9.0], vec![23.991_666_666_666_667]])
    );
    // Zones are taken into account.
    let (_, rows) = features(&["2024-01-01T01:00+02:00", "2024-01-01T03:00Z", "2024-01-02T00:00-05:00"])?;
    assert_eq!(rows.iter().map(|row| row[4]).collect::<Vec<_>>(), [23.0, 3.0, 5.0]);
    Ok(())
}

#[test]
fn a_notice_says_so_and_missing_dates_are_means() -> Result<()> {
    let text = table(&["2024-01-15", "", "2024-01-19", "NA"]);
    let learnt = learn(&text)?;
    assert_eq!(learnt.schema.feature_names(), ["x", "d.day", "d.weekday", "d.days", "d=NA"]);
    let features = ["d.day", "d.weekday", "d.days", "d=NA"].map(str::to_owned).to_vec();
    let notices = [
        Notice::MissingInTraining { column: "d".into(), count: 2 },
        Notice::TimeFeatures { column: "d".into(), features },
    ];
    assert_eq!(learnt.notices, notices);
    assert!(learnt.notices[1].to_string().ends_with("its features are d.day, d.weekday, d.days, d=NA"));
    let (batch, _) = read(&learnt.schema, &text)?;
    assert_eq!(batch.inputs.row(1), [1.0, 17.0, 3.0, 2.0, 1.0]);

    let schema = learn(&table(&["2024-01-15", "2024-01-19"]))?.schema;
    let (batch, notices) = read(&schema, &table(&["", "2024-01-18"]))?;
    assert_eq!(notices, [Notice::ImputedTime { column: "d".into(), count: 1 }]);
    assert_eq!((batch.inputs.row(0), batch.inputs.row(1)), (&[0.0, 17.0, 3.0, 2.0][..], &[1.0, 18.0, 4.0, 3.0][..]));
    // A single date, and a single date that is sometimes missing.
    assert!(matches!(learn(&table(&["2024-01-15"; 3]))?.notices.as_slice(), [Notice::Constant { .. }]));
    assert_eq!(learn(&table(&["2024-01-15", "", "2024-01-15"]))?.schema.feature_names(), ["x", "d=NA"]);
    Ok(())
}

#[test]
fn the_column_tells_the_order_of_day_and_month() -> Result<()> {
    let order = |cells: &[&str]| -> Result<(Option<DateOrder>, Vec<TimePart>)> {
        match &learn(&table(cells))?.schema.inputs()[1].kind {
            Kind::Time { order, features, .. } => Ok((*order, features.iter().map(|f| f.part).collect::<Vec<_>>())),
            other => panic!("{other:?}"),
        }
    };
    use TimePart::{Day, Days, Month, Weekday};
    let (day, month) = (Some(DateOrder::DayFirst), Some(DateOrder::MonthFirst));
    assert_eq!(order(&["03/01/2024", "04/01/2024", "13/01/2024"])?, (day, vec![Day, Weekday, Days]));
    assert_eq!(order(&["03/01/2024", "04/01/2024", "05/31/2024"])?, (month, vec![Month, Day, Weekday, Days]));
    assert_eq!(order(&["03/01/2024", "04/01/2024", "12/31/2024", "01/01/2024"])?.0, month);
    let (_, rows) = features(&["03/01/2024", "02/28/2024"])?;
    assert_eq!(rows, [[3.0, 1.0, 5.0, 2.0], [2.0, 28.0, 3.0, 0.0]]);

    let ambiguous = learn(&table(&["01/02/2024", "01/03/2024", "01/02/2024"]))?;
    assert!(matches!(&ambiguous.schema.inputs()[1].kind, Kind::Category { levels } if levels.len() == 2));
    let notice = Notice::AmbiguousDates { column: "d".into(), example: "01/02/2024".into() };
    assert_eq!(ambiguous.notices, [notice]);
    let contradictory = learn(&table(&["13/02/2024", "02/13/2024", "13/02/2024"]))?;
    assert!(matches!(contradictory.schema.inputs()[1].kind, Kind::Category { .. }));

    // Prediction reads all forms, and dates with two readings as in training.
    let schema = learn(&table(&["03/01/2024", "04/01/2024", "13/01/2024"]))?.schema;
    let (batch, _) = read(&schema, &table(&["05/01/2024", "2024-01-05", "05.01.2024 00:00", "2024-01-05T00:00Z"]))?;
    assert!((0..4).all(|row| batch.inputs.row(row)[1..] == [5.0, 5.0, 2.0]), "{:?}", batch.inputs);
    let schema = learn(&table(&["2024-01-03", "2024-01-04"]))?.schema;
    assert!(read(&schema, &table(&["15/01/2024"])).is_ok());
    assert!(matches!(read(&schema, &table(&["05/01/2024"])), Err(Error::NotATime { .. })));
    Ok(())
}

#[test]
fn slips_are_faults_and_other_texts_stay_texts() -> Result<()> {
    let mut cells = vec!["2024-01-15"; 6];
    cells.extend(["2024-02-15"; 6]);
    cells[4] = "2024-13-15";
    let said = learn(&table(&cells)).map_or_else(|e| e.to_string(), |_| String::new());
    assert!(
        said.starts_with("t.csv, line 6, column \"d\": \"2024-13-15\" is not a date or time as the others; correct it")
    );
    cells[7] = "soon";
    assert!(matches!(learn(&table(&cells))?.schema.inputs()[1].kind, Kind::Category { .. }));
    let mixed = learn(&table(&["10:30", "2024-01-15", "10:30", "2024-01-15"]))?;
    assert!(matches!(mixed.schema.inputs()[1].kind, Kind::Category { .. }));
    let declared = Roles { categories: vec!["d".into()], ..Roles::predict(["y"]) };
    let learnt = Schema::learn(&source(&table(&["10:30", "9:00", "10:30"])), &ReadOptions::default(), &declared)?;
    assert_eq!(learnt.schema.feature_names(), ["x", "d=10:30", "d=9:00"]);

    let schema = learn(&table(&["2024-01-15", "2024-02-19"]))?.schema;
    for cell in ["10:30", "soon", "45000", "2024-02-30"] {
        let found = read(&schema, &table(&["2024-01-15", cell]));
        assert!(matches!(&found, Err(Error::NotATime { place: Place::Line(3), .. })), "{cell}: {found:?}");
    }
    let hours = learn(&table(&["10:30", "9:00"]))?.schema;
    let (batch, _) = read(&hours, &table(&["2024-01-15 12:15", "1:30 PM"]))?;
    assert_eq!((batch.inputs[(0, 1)], batch.inputs[(1, 1)]), (12.25, 13.5));
    Ok(())
}

#[test]
fn times_are_kept_in_files() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let schema = learn(&table(&["2024-01-15", "2024-01-19"]))?.schema;
    let text = serde_json::to_string(&schema)?;
    assert!(text.contains(r#""kind":{"time":{"order":null,"origin":19737.0,"features":[{"part":"day","mean":17.0},"#));
    assert_eq!(serde_json::from_str::<Schema>(&text)?, schema);
    for (from, to) in [
        (r#""part":"day""#, r#""part":"days""#),
        (r#""mean":17.0"#, r#""mean":null"#),
        (r#""origin":19737.0"#, r#""origin":1e999"#),
    ] {
        assert!(serde_json::from_str::<Schema>(&text.replace(from, to)).is_err(), "{to}");
    }
    Ok(())
}
