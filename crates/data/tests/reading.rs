//! Reading of text tables: delimiters, headers, quotes, faults and their places.

use deepgp_data::{Cell, Chunk, Decimal, Error, Header, MAX_ROW_BYTES, Place, ReadOptions, Reader, Result, Source};
use flate2::{Compression, write::GzEncoder};
use std::io::Write;

fn source(text: impl AsRef<[u8]>) -> Source {
    Source::from_bytes("t.csv", text.as_ref())
}

fn open(text: impl AsRef<[u8]>) -> Result<Reader> {
    Reader::open(&source(text), &ReadOptions::default())
}

fn rest(reader: &mut Reader) -> Result<Vec<Chunk>> {
    std::iter::from_fn(|| reader.next_chunk().transpose()).collect()
}

/// Names and cells of a table, as they are written.
fn read_with(text: impl AsRef<[u8]>, options: ReadOptions) -> Result<(Vec<String>, Vec<Vec<String>>)> {
    let mut reader = Reader::open(&source(text), &options)?;
    let mut rows = Vec::new();
    for chunk in rest(&mut reader)? {
        for row in 0..chunk.rows() {
            rows.push((0..chunk.cols()).map(|col| chunk.text(row, col).into_owned()).collect());
        }
    }
    Ok((reader.names().to_vec(), rows))
}

fn read(text: impl AsRef<[u8]>) -> Result<(Vec<String>, Vec<Vec<String>>)> {
    read_with(text, ReadOptions::default())
}

fn fault(text: impl AsRef<[u8]>) -> String {
    read(text).map_or_else(|e| e.to_string(), |t| format!("no fault: {t:?}"))
}

fn owned(table: (&[&str], &[&[&str]])) -> (Vec<String>, Vec<Vec<String>>) {
    let row = |row: &[&str]| row.iter().map(|cell| (*cell).to_owned()).collect();
    (row(table.0), table.1.iter().map(|cells| row(cells)).collect())
}

#[test]
fn every_delimiter_gives_the_same_table() -> Result<()> {
    let expected = owned((&["a", "b", "c"], &[&["1", "x", "2.5"], &["3", "y", "4.5"]]));
    for text in [
        "a,b,c\n1,x,2.5\n3,y,4.5\n",
        "a\tb\tc\n1\tx\t2.5\n3\ty\t4.5",
        "a;b;c\r\n1;x;2.5\r\n3;y;4.5\r\n",
        "a|b|c\n\n1|x|2.5\n   \n3|y|4.5\n\n",
        " a  b c \n 1  x   2.5\n 3\ty   4.5\n",
        "\u{feff}a, b ,c\n1, x,2.5\n3,y , 4.5\n",
        "\"a\",\"b\",\"c\"\n\"1\",\"x\",\"2.5\"\n3,y,4.5\n",
        "a,b,c\r1,x,2.5\r3,y,4.5\r",
    ] {
        assert_eq!(read(text)?, expected, "{text:?}");
    }
    Ok(())
}

#[test]
fn a_first_row_with_a_number_is_data() -> Result<()> {
    assert_eq!(read("1,x\n2,y\n")?, owned((&["c1", "c2"], &[&["1", "x"], &["2", "y"]])));
    assert_eq!(read("a,b\n2,y\n")?.0, ["a", "b"]);
    let with = |header| ReadOptions { header, ..ReadOptions::default() };
    assert_eq!(read_with("2019,2020\n1,2\n", with(Header::Yes))?, owned((&["2019", "2020"], &[&["1", "2"]])));
    assert_eq!(read_with("a,b\nc,d\n", with(Header::No))?.1.len(), 2);
    assert!(open("a,b\n1,2\n")?.has_header() && !open("1,2\n")?.has_header());
    Ok(())
}

#[test]
fn a_chosen_delimiter_and_decimal_mark_are_obeyed() -> Result<()> {
    let options = ReadOptions { delimiter: Some(';'), decimal: Decimal::Comma, ..ReadOptions::default() };
    let mut reader = Reader::open(&source("a;b\n1,5;-2\n"), &options)?;
    let chunks = rest(&mut reader)?;
    assert_eq!((chunks[0].cell(0, 0), chunks[0].cell(0, 1)), (Cell::Number(1.5), Cell::Number(-2.0)));
    // A first row of numbers with decimal commas is data, too.
    assert!(!Reader::open(&source("1,5;2\n"), &options)?.has_header());
    let colon = ReadOptions { delimiter: Some(':'), ..ReadOptions::default() };
    assert_eq!(read_with("a:b\n1:2\n", colon)?.0, ["a", "b"]);
    for refused in ['"', '\n', 'é'] {
        let options = ReadOptions { delimiter: Some(refused), ..ReadOptions::default() };
        assert!(matches!(read_with("a:b\n", options), Err(Error::Format { .. })), "{refused:?}");
    }
    Ok(())
}

#[test]
fn quoted_fields_hold_anything_and_lines_are_counted_right() -> Result<()> {
    let text = "a,b\r\n\r\n\"1\r\n2\",\"say \"\"hi\"\", please\"\r\n3,4\r\n\n5,6\n";
    let mut reader = open(text)?;
    let chunk = &rest(&mut reader)?[0];
    assert_eq!((chunk.text(0, 0).as_ref(), chunk.text(0, 1).as_ref()), ("1\r\n2", "say \"hi\", please"));
    let lines: Vec<Place> = (0..3).map(|row| chunk.place(row)).collect();
    assert_eq!(lines, [Place::Line(3), Place::Line(5), Place::Line(7)]);
    let mut blanks = open("  \n 1 2\n\t\n \n  3 4\r\n5 6")?;
    let chunk = &rest(&mut blanks)?[0];
    let lines: Vec<Place> = (0..3).map(|row| chunk.place(row)).collect();
    assert_eq!(lines, [Place::Line(2), Place::Line(5), Place::Line(6)]);
    Ok(())
}

#[test]
fn faults_say_where_they_are() {
    assert_eq!(fault("a,b\n1,2\n\n3\n"), "t.csv, line 4: 1 fields where the first row has 2");
    assert_eq!(fault("a,b\r\n1,2\r\n\r\n3\r\n"), "t.csv, line 4: 1 fields where the first row has 2");
    assert_eq!(
        fault("a,b\n1,2,\n"),
        "t.csv, line 2: 3 fields where the first row has 2; the line ends with a delimiter"
    );
    assert_eq!(
        fault("a,b,c\n1,\"2\n3,4,5\n"),
        "t.csv, line 2: 2 fields where the first row has 3; is a quote not closed?"
    );
    assert_eq!(fault(""), "t.csv: no header found");
    assert_eq!(fault("\n \n"), "t.csv: no header found");
    assert_eq!(fault("a,b,a\n1,2,3\n"), r#"t.csv: two columns are called "a"; rename one of them"#);
    assert!(fault(b"a,b\n1,2\n3,\xff\n").starts_with("t.csv, line 3, field 2: not UTF-8"));
    assert!(fault(b"a,\xe9\n1,2\n").starts_with("t.csv, line 1, field 2: not UTF-8"));
    // Two halves of a character, valid only when joined.
    assert!(fault(b"a,b\n\xc3,\xa9\n").starts_with("t.csv, line 2, field 1: not UTF-8"));
    assert!(fault(b"PK\x03\x04").contains("Excel"));
    assert!(fault("a,b\n1,2\n".as_bytes().iter().flat_map(|b| [*b, 0]).collect::<Vec<_>>()).starts_with("t.csv"));
}

#[test]
fn columns_without_a_name_are_named_by_position() -> Result<()> {
    let reader = open(",a,\n0,1,2\n")?;
    assert_eq!(reader.names(), ["c1", "a", "c3"]);
    assert_eq!(reader.notices().len(), 2);
    assert!(matches!(open(",c1\n0,1\n"), Err(Error::RepeatedName { .. })));
    Ok(())
}

#[test]
fn wide_tables_are_read_and_endless_rows_refused() -> Result<()> {
    let header: Vec<String> = (0..10_000).map(|i| format!("column_{i}")).collect();
    let row = vec!["-0.123456789012345678"; 10_000].join(",");
    let text = format!("{}\n{}", header.join(","), format!("{row}\n").repeat(20));
    let mut reader = open(text)?;
    assert_eq!(reader.names().len(), 10_000);
    let chunks = rest(&mut reader)?;
    assert_eq!(chunks.iter().map(Chunk::rows).sum::<usize>(), 20);
    assert!(chunks.len() > 2, "a chunk of wide rows has few of them");

    let endless = format!("a,b\n1,\"{}", "x\n".repeat(MAX_ROW_BYTES / 2 + 1));
    assert!(fault(endless).starts_with("t.csv, line 2: the row is longer than 16777216 bytes"));
    assert!(fault(",".repeat(200_000)).contains("100000 columns"));
    Ok(())
}

#[test]
fn long_tables_come_in_chunks_with_the_right_lines() -> Result<()> {
    let text: String =
        std::iter::once("x,y\n".to_owned()).chain((0..50_000).map(|i| format!("{i},{}\r\n", i * 2))).collect();
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(text.as_bytes()).and_then(|()| packed.try_finish()).map_err(|_| Error::NoTarget)?;
    for bytes in [text.into_bytes(), packed.get_ref().clone()] {
        let chunks = rest(&mut open(bytes)?)?;
        assert!(chunks.len() > 3);
        let mut next = 0;
        for chunk in chunks {
            for row in 0..chunk.rows() {
                assert_eq!(chunk.cell(row, 1), Cell::Number(2.0 * next as f64));
                assert_eq!(chunk.place(row), Place::Line(next + 2));
                next += 1;
            }
        }
        assert_eq!(next, 50_000);
    }
    Ok(())
}
