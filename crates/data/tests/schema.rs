//! Learning a schema from training data, and applying it to other tables.

use deepgp_data::{
    Batch, Decimal, Encoder, Error, Header, Kind, Learnt, Notice, ReadOptions, Reader, Result, Roles, Schema, Source,
    TargetSummary, Targets,
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

/// What is wrong with a table whose target is to be a number.
fn fault(text: &str) -> String {
    let learnt = learn(text).and_then(|l| l.targets.iter().try_for_each(TargetSummary::require_numbers).map(|()| l));
    learnt.map_or_else(|e| e.to_string(), |l| format!("no fault: {l:?}"))
}

fn read(schema: &Schema, text: &str, targets: Targets) -> Result<(Batch, Vec<Notice>)> {
    schema.read(&source(text), &ReadOptions::default(), targets)
}

fn has_targets(schema: &Schema, text: &str) -> Result<bool> {
    Ok(schema.has_targets(&Reader::open(&source(text), &ReadOptions::default())?))
}

fn rows(batch: &Batch) -> Vec<&[f64]> {
    (0..batch.inputs.rows()).map(|row| batch.inputs.row(row)).collect()
}

const HOMES: &str = "area,colour,sold,zip,y
10,red,TRUE,8001,1
,blue,false,8002,2
30,,true,8001,4
40,red,,8001,
50,red,False,8002,8
";

#[test]
fn columns_become_features() -> Result<()> {
    let roles = Roles { categories: vec!["zip".into()], ..Roles::predict(["y"]) };
    let Learnt { schema, n_rows, notices, .. } = learn_with(HOMES, &roles)?;
    assert_eq!(n_rows, 4);
    assert_eq!(
        schema.feature_names(),
        ["area", "area=NA", "colour=blue", "colour=red", "colour=NA", "sold", "zip=8001", "zip=8002"]
    );
    assert_eq!(schema.feature_inputs(), [0, 0, 1, 1, 1, 2, 3, 3]);
    assert_eq!(schema.n_features(), 8);
    let missing = |column: &str| Notice::MissingInTraining { column: column.into(), count: 1 };
    assert_eq!(notices, [Notice::RowsWithoutTarget { count: 1 }, missing("area"), missing("colour")]);

    let (batch, notices) = read(&schema, HOMES, Targets::Required)?;
    assert_eq!(
        rows(&batch),
        [
            [10.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0],
            [30.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0],
            [30.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0],
            [50.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        ]
    );
    assert_eq!((batch.targets.column(0), batch.rows), (vec![1.0, 2.0, 4.0, 8.0], vec![0, 1, 2, 4]));
    assert_eq!(notices, [Notice::RowsWithoutTarget { count: 1 }]);
    Ok(())
}

#[test]
fn prediction_takes_columns_by_name_and_says_what_is_new() -> Result<()> {
    let schema = learn("size,colour,sold,y\n1,red,true,1\n3,blue,false,2\n")?.schema;
    let new = "more;sold;colour;size\nx;1;green;7\nx;;;\nx;FALSE;red;9\n";
    let (batch, notices) = read(&schema, new, Targets::Ignored)?;
    assert_eq!(rows(&batch), [[7.0, 0.0, 0.0, 1.0], [2.0, 0.0, 0.0, 0.5], [9.0, 0.0, 1.0, 0.0]]);
    assert_eq!((batch.targets.cols(), batch.rows), (0, vec![0, 1, 2]));
    let imputed = |column: &str, value| Notice::Imputed { column: column.into(), count: 1, value };
    assert_eq!(
        notices,
        [
            imputed("size", Some(2.0)),
            imputed("colour", None),
            Notice::UnknownLevel { column: "colour".into(), level: "green".into(), count: 1 },
            imputed("sold", Some(0.5)),
        ]
    );
    assert!(has_targets(&schema, "y,size\n1,2\n")? && !has_targets(&schema, new)?);
    Ok(())
}

#[test]
fn a_stream_gives_the_rows_of_the_whole() -> Result<()> {
    let text: String = std::iter::once("x,c,y\n".to_owned())
        .chain((0..20_000).map(|i| format!("{i},{},1e{}\n", ["u", "v"][i % 2], i % 3)))
        .collect();
    let schema = learn(&text)?.schema;
    let (whole, _) = read(&schema, &text, Targets::Required)?;
    let mut reader = Reader::open(&source(&text), &ReadOptions::default())?;
    let mut encoder = Encoder::new(&schema, &mut reader, Targets::Required)?;
    let (mut inputs, mut rows, mut n_chunks) = (Vec::new(), Vec::new(), 0);
    while let Some(chunk) = reader.next_chunk()? {
        let batch = encoder.encode(&chunk)?;
        inputs.extend_from_slice(batch.inputs.as_slice());
        rows.extend(batch.rows);
        n_chunks += 1;
    }
    assert!(n_chunks > 1);
    assert_eq!((inputs.as_slice(), rows), (whole.inputs.as_slice(), whole.rows));
    Ok(())
}

#[test]
fn columns_of_no_use_are_left_out_with_a_notice() -> Result<()> {
    let table: String = std::iter::once("id,one,none,word,x,y\n".to_owned())
        .chain((0..60).map(|i| format!("name{i},5,NA,same,{i},{}\n", i % 7)))
        .collect();
    let learnt = learn(&table)?;
    assert_eq!(learnt.schema.feature_names(), ["x"]);
    assert!(matches!(
        learnt.notices.as_slice(),
        [
            Notice::TooManyLevels { limit: 50, .. },
            Notice::Constant { .. },
            Notice::AllMissing { .. },
            Notice::Constant { .. }
        ]
    ));
    let said: Vec<String> = learnt.notices.iter().map(ToString::to_string).collect();
    assert_eq!(said[1], r#"column "one" left out: it is always "5""#);
    assert_eq!(said[2], r#"column "none" left out: it has no values"#);

    let few: String =
        std::iter::once("id,x,y\n".to_owned()).chain((0..12).map(|i| format!("n{i},{i},1{i}\n"))).collect();
    assert!(matches!(learn(&few)?.notices.as_slice(), [Notice::Identifier { .. }]));
    // What is asked for by name is not left out in silence.
    let asked = Roles { inputs: Some(vec!["id".into(), "x".into()]), ..Roles::predict(["y"]) };
    assert!(matches!(learn_with(&table, &asked), Err(Error::TooManyLevels { .. })));
    let more = Roles { max_levels: 60, ..asked };
    assert_eq!(learn_with(&table, &more)?.schema.n_features(), 61);
    assert!(matches!(learn("x,y\n1,3\n2,3\n")?.notices.as_slice(), [Notice::ConstantTarget { .. }]));
    Ok(())
}

#[test]
fn numbers_of_rows_are_left_out() -> Result<()> {
    // The first column has this name and begins with this number; rows without a target count as well.
    let table = |name: &str, first: u64, rows: u64| -> String {
        let row =
            |i: u64| format!("{},{},{}\n", first + i, i * i % 7, if i == 3 { String::new() } else { i.to_string() });
        std::iter::once(format!("{name},x,y\n")).chain((0..rows).map(row)).collect()
    };
    let names = |text: &str, roles: &Roles| Ok::<_, Error>(learn_with(text, roles)?.schema.feature_names());
    let roles = Roles::predict(["y"]);
    for (name, first, rows, is_left_out) in [
        ("id", 0, 21, true),
        ("id", 1, 20_000, true),
        ("id", 2, 25, false),
        ("id", 1, 20, false),
        ("", 7, 12, true),
        ("Unnamed: 0", 7, 12, true),
        ("Unnamed: 0", 1, 9, false),
        ("Unnamed", 7, 12, false),
    ] {
        let text = table(name, first, rows);
        let learnt = learn(&text)?;
        let column = if name.is_empty() { "c1" } else { name };
        let notice = Notice::RowNumber { column: column.into() };
        assert_eq!(learnt.notices.contains(&notice), is_left_out, "{name} {first} {rows}: {:?}", learnt.notices);
        assert_eq!(learnt.schema.feature_names().len(), if is_left_out { 1 } else { 2 }, "{name} {first} {rows}");
        let asked = Roles { inputs: Some(vec![column.into(), "x".into()]), ..roles.clone() };
        assert_eq!(names(&text, &asked)?, [column, "x"]);
    }
    // Out of order, a step, or a gap.
    let text = table("id", 1, 30);
    for (from, to) in [("\n5,", "\n6,"), ("\n5,", "\n,"), ("\n5,", "\n5.5,")] {
        assert_eq!(names(&text.replace(from, to), &roles)?[0], "id", "{to}");
    }
    // Different numbers without a name that are measurements, or not all different.
    assert_eq!(names(&table("", 7, 12).replace("\n9,", "\n9.5,"), &roles)?.len(), 2);
    assert_eq!(names(&table("", 7, 12).replace("\n9,", "\n8,"), &roles)?.len(), 2);
    // There is nothing else to predict from.
    let alone: String =
        std::iter::once("t,y\n".to_owned()).chain((0..30).map(|i| format!("{i},{}\n", i % 7))).collect();
    assert_eq!(names(&alone, &roles)?, ["t"]);
    Ok(())
}

#[test]
fn faults_in_training_data_are_explained() {
    assert_eq!(
        fault("x,y\n1,1\n2,2\nabc,3\n"),
        r#"t.csv, line 4, column "x": "abc" is not a finite number; correct it, leave the cell empty if the value is missing, or declare the column a category"#
    );
    assert!(fault("x;y\n1,5;1\n2,5;2\n").contains("decimal mark"));
    assert!(fault("x;y\n1,234,567;1\n2,345,678;2\n").contains("thousands"));
    assert!(fault("x,y\n5%,1\n7%,2\n").contains("without its unit"));
    assert!(fault("x,y\n1,1\ninf,2\n").contains("line 3, column \"x\": \"inf\" is not a finite number; infinite"));
    assert!(fault("x,y\n1,1\n2,1e999\n").contains("line 3, column \"y\""));
    assert!(fault("x,y\n1,low\n2,high\n").contains("the target \"y\" holds text, such as \"low\""));
    assert!(fault("x,y\n1,1\n2,oops\n").contains("line 3, column \"y\": \"oops\" is not a finite number"));
    assert_eq!(fault("x,y\n"), "t.csv: no rows below the header found");
    assert_eq!(fault("x,y\n1,\n2,NA\n"), "t.csv: no rows with a target found");
    assert!(fault("x,y\n1,1\n1,2\n").starts_with("t.csv: no column is left to predict from: column \"x\" left out"));
    assert!(fault("y\n1\n2\n").starts_with("t.csv: no column is left"));
    assert!(fault("id,2019,y\n1,2,3\n4,5,6\n").contains("by position, since the first row is no header"));
    let headerless = learn_with("id,2019,y\n1,2,3\n4,5,6\n", &Roles::predict(["c2"]));
    assert!(headerless.is_err_and(|e| {
        e.to_string().contains("line 1, column \"c1\": \"id\" is not a finite number; if the first row is a header")
    }));
}

#[test]
fn a_column_of_numbers_stays_one_however_late_the_slip() {
    let mut text = "x,y\n".to_owned();
    (0..20_000).for_each(|i| text.push_str(&format!("{},{i}\n", i % 9)));
    (0..30_000).for_each(|i| text.push_str(&format!("word,{i}\n")));
    assert!(fault(&text).contains("line 20002, column \"x\": \"word\" is not a finite number"));
}

#[test]
fn names_that_are_not_there_are_guessed() -> Result<()> {
    let told = |roles: Roles| {
        learn_with("area,price,rooms\n1,2,3\n2,4,3\n", &roles).map_or_else(|e| e.to_string(), |_| String::new())
    };
    assert_eq!(told(Roles::predict(["prise"])), r#"t.csv: column "prise" not found; did you mean "price"?"#);
    assert_eq!(told(Roles::predict(["y"])), r#"t.csv: column "y" not found; there are "area", "price", "rooms""#);
    assert!(told(Roles { exclude: vec!["Area".into()], ..Roles::predict(["price"]) }).contains("\"area\"?"));
    assert!(matches!(learn_with("a,b\n1,2\n", &Roles::predict::<&str>([])), Err(Error::NoTarget)));
    assert!(told(Roles::predict(["price", "price"])).contains("two columns are called"));
    let both = Roles { inputs: Some(vec!["price".into()]), ..Roles::predict(["price"]) };
    assert_eq!(told(both), r#"column "price" is asked for in two roles: target and input"#);
    let schema = learn("x1,x2,y\n1,2,3\n2,1,4\n")?.schema;
    let short = read(&schema, "x1,z2\n1,2\n", Targets::Ignored).map_or_else(|e| e.to_string(), |_| String::new());
    assert_eq!(short, r#"t.csv: column "x2" not found; did you mean "z2"?"#);
    let bad = read(&schema, "x1,x2\n1,2\n1,one\n", Targets::Ignored).map_or_else(|e| e.to_string(), |_| String::new());
    assert!(bad.starts_with(r#"t.csv, line 3, column "x2": "one" is not a finite number; the model was trained on"#));
    Ok(())
}

#[test]
fn what_was_true_or_false_stays_so_and_features_have_a_limit() -> Result<()> {
    let schema = learn("flag,y\ntrue,1\nfalse,2\n")?.schema;
    let odd = read(&schema, "flag\nFalse\nmaybe\n", Targets::Ignored);
    assert!(odd.is_err_and(|e| e.to_string() == r#"t.csv, line 3, column "flag": "maybe" is neither true nor false"#));

    // 4001 categories of 50 levels each.
    let mut wide = (0..4001).map(|i| format!("x{i},")).collect::<String>() + "y\n";
    (0..50)
        .for_each(|row| wide.push_str(&(format!("{},", ["p", "q"][row % 2].repeat(row / 2 + 1)).repeat(4001) + "1\n")));
    (0..50).for_each(|row| wide.push_str(&(format!("{},", "p".repeat(row % 25 + 1)).repeat(4001) + "1\n")));
    assert!(matches!(learn(&wide), Err(Error::TooWide { limit: 100_000, .. })));
    Ok(())
}

#[test]
fn without_headers_columns_are_found_by_position() -> Result<()> {
    let schema = learn_with("7,1,2\n8,3,5\n9,5,4\n", &Roles::predict(["c1"]))?.schema;
    let (all, _) = read(&schema, "0,10,20\n", Targets::Ignored)?;
    let (inputs_only, _) = read(&schema, "10,20\n", Targets::Ignored)?;
    assert_eq!((rows(&all), rows(&inputs_only)), (vec![&[10.0, 20.0][..]], vec![&[10.0, 20.0][..]]));
    assert!(matches!(read(&schema, "1\n", Targets::Ignored), Err(Error::ColumnCount { expected: 3, found: 1, .. })));
    assert!(has_targets(&schema, "0,10,20\n")? && !has_targets(&schema, "10,20\n")?);
    // Names of its own, but these are not the ones.
    assert!(matches!(read(&schema, "a,b,c\n1,2,3\n", Targets::Ignored), Err(Error::NoColumn { .. })));
    Ok(())
}

#[test]
fn several_targets_and_a_decimal_comma() -> Result<()> {
    let options = ReadOptions { decimal: Decimal::Comma, header: Header::Yes, ..ReadOptions::default() };
    let table = source("x;u;v\n1,5;2;3\n2,5;4;\n3,5;6;7\n");
    let learnt = Schema::learn(&table, &options, &Roles::predict(["v", "u"]))?;
    let (batch, _) = learnt.schema.read(&table, &options, Targets::Required)?;
    assert_eq!((batch.inputs.column(0), batch.targets.as_slice()), (vec![1.5, 3.5], &[3.0, 2.0, 7.0, 6.0][..]));
    assert_eq!(learnt.schema.inputs()[0].kind, Kind::Number { mean: 2.5 });
    Ok(())
}

#[test]
fn schemas_are_kept_in_files_and_checked_on_the_way_back() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let schema = learn(HOMES)?.schema;
    let text = serde_json::to_string(&schema)?;
    assert_eq!(serde_json::from_str::<Schema>(&text)?, schema);
    let number = r#"{"name":"x","kind":{"number":{"mean":1.0}},"has_missing":false}"#;
    let file = |inputs: &str, targets: &str, columns: &str| {
        let text = format!(r#"{{"inputs":[{inputs}],"targets":[{targets}],"headerless_columns":{columns}}}"#);
        serde_json::from_str::<Schema>(&text).map_err(|e| e.to_string())
    };
    assert!(file(number, r#""y""#, "null").is_ok_and(|schema| schema.feature_names() == ["x"]));
    for (inputs, targets, columns) in [
        ("", r#""y""#, "null"),
        (number, "", "null"),
        (number, r#""x""#, "null"),
        (number, r#""y","y""#, "null"),
        (number, r#""""#, "null"),
        (number, r#""y""#, "1"),
        (r#"{"name":"x","kind":{"number":{"mean":null}},"has_missing":false}"#, r#""y""#, "null"),
        (r#"{"name":"x","kind":{"boolean":{"mean":1.5}},"has_missing":false}"#, r#""y""#, "null"),
        (r#"{"name":"x","kind":{"category":{"levels":[]}},"has_missing":false}"#, r#""y""#, "null"),
        (r#"{"name":"x","kind":{"category":{"levels":["b","a"]}},"has_missing":false}"#, r#""y""#, "null"),
        (r#"{"name":"x","kind":{"category":{"levels":["a","a"]}},"has_missing":false}"#, r#""y""#, "null"),
    ] {
        assert!(file(inputs, targets, columns).is_err(), "{inputs} {targets} {columns}");
    }
    Ok(())
}

#[test]
fn optional_targets_keep_every_row() -> Result<()> {
    let schema = learn("x,y\n1,1\n2,4\n3,9\n")?.schema;
    let (batch, notices) = read(&schema, "y,x\n5,1\n,2\n", Targets::Optional)?;
    assert_eq!((batch.rows.as_slice(), batch.targets[(0, 0)], notices.len()), (&[0, 1][..], 5.0, 0));
    assert!(batch.targets[(1, 0)].is_nan());
    assert!(matches!(read(&schema, "x\n1\n", Targets::Optional), Err(Error::NoColumn { .. })));
    let last = batch.part(1..2);
    assert_eq!((last.inputs.row(0), last.rows.as_slice()), (batch.inputs.row(1), &batch.rows[1..]));
    assert!(last.targets[(0, 0)].is_nan() && batch.part(0..0).inputs.rows() == 0);
    Ok(())
}
