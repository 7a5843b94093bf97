//! `deepgp data`, as a user would type it.

mod common;

use common::Folder;
use std::net::TcpListener;

/// A folder whose commands keep their data in `sets` and go out only to `mirror`.
struct Session {
    folder: Folder,
    mirror: String,
}

impl Session {
    /// With nobody to download from.
    fn new(name: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mirror = format!("http://{}", listener.local_addr().expect("an address"));
        Self { folder: Folder::new(name), mirror }
    }

    fn run(&self, line: &str) -> common::Done {
        let variables = [("DEEPGP_DATA", "sets"), ("DEEPGP_MIRROR", &self.mirror), ("NO_PROXY", "*")];
        self.folder.run_in(line, &variables)
    }
}

/// Red wine as `deepgp demo` knows it, in its own order: every fifth row is in the second of its tables.
#[cfg(feature = "demo-data")]
fn wine_csv(folder: &Folder) -> String {
    folder.run("demo --quiet --iters 1 --out demo").ok();
    let tables = ["train", "test"].map(|name| folder.read(&format!("demo/wine/{name}.csv")));
    std::fs::remove_dir_all(folder.path("demo")).expect("removed");
    let [mut train, mut test] = tables.each_ref().map(|text| text.lines());
    let mut text = train.next().map(|header| format!("{header}\n")).expect("a header");
    test.next();
    for row in 0.. {
        let Some(line) = (if row % 5 == 4 { test.next() } else { train.next() }) else { break };
        text += &format!("{line}\n");
    }
    text
}

/// Serves red wine the way its public home does.
#[cfg(all(feature = "demo-data", feature = "fetch"))]
fn mirror_wine(csv: &str) -> String {
    use std::io::{BufRead, BufReader, Write};
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}/some/where/", listener.local_addr().expect("an address"));
    let table = csv.lines().skip(1).map(|line| line.replace(',', " ") + "\n").collect::<String>();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
            let path = lines.next().and_then(|line| Some(line.split(' ').nth(1)?.to_owned())).unwrap_or_default();
            lines.take_while(|line| !line.is_empty()).for_each(drop);
            let columns: Vec<String> = (0..11).map(|i| i.to_string()).collect();
            let (folder, file) = path.rsplit_once('/').unwrap_or_default();
            let is_wine = folder.starts_with("/some/where/yaringal/") && folder.ends_with("/wine-quality-red/data");
            let body = match file {
                "data.txt" if is_wine => table.clone(),
                "index_features.txt" if is_wine => columns.join("\n"),
                "index_target.txt" if is_wine => "11\n".to_owned(),
                _ => String::new(),
            };
            let status = if body.is_empty() { "404 Not Found" } else { "200 OK" };
            let length = body.len();
            let _ = write!(stream, "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}");
        }
    });
    address
}

#[test]
fn sets_are_listed() {
    let s = Session::new("data-list");
    let list = s.run("data list").ok();
    let boston = list.out.lines().find(|line| line.starts_with("boston ")).expect("boston");
    for piece in ["506", "13", "20 standard", "can fetch", "Harrison & Rubinfeld 1978"] {
        assert!(boston.contains(piece), "{piece}: {boston}");
    }
    let lines = |piece: &str| list.out.lines().filter(|line| line.contains(piece)).count();
    assert_eq!((lines("10 folds"), lines("  import  ")), (3, 6), "{}", list.out);
    assert!(list.out.ends_with("\nfolder: sets\n") && list.err.is_empty(), "{list:#?}");

    let json = s.run("data list --json --data-dir elsewhere").ok().json();
    assert_eq!(json["folder"], "elsewhere");
    let naval = json["sets"].as_array().and_then(|sets| sets.iter().find(|set| set["name"] == "naval")).expect("naval");
    assert_eq!((&naval["rows"], &naval["inputs"], &naval["here"]), (&11_934.into(), &16.into(), &false.into()));
    assert_eq!(naval["targets"], serde_json::json!(["compressor_decay", "turbine_decay"]));
    assert!(naval["values_sha256"].as_str().is_some_and(|sha| sha.len() == 64) && naval["path"].is_null());
    // Listing makes no folders.
    assert_eq!(s.folder.names(), Vec::<String>::new());
}

#[test]
#[cfg(feature = "demo-data")]
fn a_set_is_imported_listed_and_learnt_from() {
    let s = Session::new("data-import");
    let csv = wine_csv(&s.folder);
    std::fs::create_dir_all(s.folder.path("mine/wine_red")).expect("folders");
    std::fs::create_dir_all(s.folder.path("mine/notes")).expect("folders");
    s.folder.write("mine/wine_red/data.csv", csv.replace(',', ";")).write("mine/README", "hello");
    let import = s.run("data import mine").ok();
    assert_eq!(import.out, "wine_red: 1599 rows, 11 inputs, 1 target, 20 splits in sets/wine_red\n");
    assert_eq!(import.err, "note: notes is skipped: no such set is known\n");
    assert_eq!(s.folder.names(), ["mine", "sets"]);
    assert!(s.folder.read("sets/wine_red/data.csv").starts_with("fixed_acidity,"));

    let list = s.run("data list").ok();
    let line = list.out.lines().find(|line| line.starts_with("wine_red ")).expect("wine");
    assert!(line.contains("  here  "), "{line}");
    let path = s.run("data path wine_red").ok();
    assert_eq!(path.out, "sets/wine_red/data.csv\n");
    s.run(&format!("fit {} --target quality --quiet {}", path.out.trim(), common::QUICK)).ok();

    // The folder of one set, whatever it is called, and only the set that is named.
    std::fs::rename(s.folder.path("mine/wine_red"), s.folder.path("tables")).expect("renamed");
    for line in ["data import tables", "data import tables wine_red --quiet", "data import sets wine_red"] {
        assert_eq!(s.run(line).ok().out, import.out, "{line}");
    }
    let json = s.run("data import tables --json --data-dir other").ok().json();
    assert_eq!((&json["folder"], &json["sets"][0]["path"]), (&"other".into(), &"other/wine_red/data.csv".into()));
    assert!(s.folder.path("other/wine_red/data.csv").is_file());
}

#[test]
#[cfg(all(feature = "demo-data", feature = "fetch"))]
fn a_set_is_fetched_once() {
    let mut s = Session::new("data-fetch");
    s.mirror = mirror_wine(&wine_csv(&s.folder));
    let fetch = s.run("data fetch wine_red").ok();
    assert_eq!(fetch.out, "wine_red: 1599 rows, 11 inputs, 1 target, 20 splits in sets/wine_red\n");
    // There is no terminal, so nothing is drawn.
    assert_eq!(fetch.err, "");
    assert_eq!(s.run("data fetch wine_red").ok().out, "wine_red: already in sets/wine_red\n");
    let json = s.run("data fetch wine_red --json").ok().json();
    assert_eq!((&json["sets"][0]["name"], &json["sets"][0]["new"]), (&"wine_red".into(), &false.into()));
    assert_eq!(s.run("data fetch wine_red --force --json").ok().json()["sets"][0]["new"], true);

    // One that fails does not keep the others from coming.
    std::fs::remove_dir_all(s.folder.path("sets")).expect("removed");
    let both = s.run("data fetch boston wine_red creep");
    assert_eq!((both.code, both.out.as_str()), (1, fetch.out.as_str()), "{both:#?}");
    let lines: Vec<&str> = both.err.lines().collect();
    assert!(lines.len() == 2 && lines[0].starts_with("deepgp: boston: cannot fetch http://127.0.0.1:"), "{lines:?}");
    assert!(lines[0].contains("the server answers 404") && lines[1].starts_with("deepgp: creep cannot be fetched"));
    assert_eq!(s.folder.names(), ["sets"]);
    let left: Vec<_> = std::fs::read_dir(s.folder.path("sets")).expect("sets").flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");

    // A damaged copy is fetched again.
    s.folder.write("sets/wine_red/data.csv", "a,b\n1,2\n");
    assert_eq!(s.run("data fetch wine_red").ok().out, fetch.out);
}

#[test]
#[cfg(feature = "fetch")]
fn faults_are_one_line_and_leave_nothing() {
    let s = Session::new("data-faults");
    std::fs::create_dir_all(s.folder.path("mine/boston")).expect("folders");
    std::fs::create_dir_all(s.folder.path("strange")).expect("folders");
    std::fs::create_dir_all(s.folder.path("empty")).expect("folders");
    s.folder.write("mine/boston/data.csv", "a,b\n1,2\n").write("strange/data.csv", "a,b\n1,2\n").write("file", "");
    let before = s.folder.names();
    let cases: &[(&str, i32, &[&str])] = &[
        ("data fetch bostn", 2, &["there is no data set \"bostn\"; did you mean \"boston\"?"]),
        ("data fetch mnist", 2, &["there is no data set \"mnist\"; `deepgp data list` names them"]),
        ("data fetch creep", 1, &["creep cannot be fetched", "spreadsheet", "deepgp data import FOLDER"]),
        ("data fetch boston", 1, &["boston: cannot fetch http://127.0.0.1:", "efused", "deepgp data import FOLDER"]),
        ("data fetch boston --json", 1, &["boston: cannot fetch"]),
        ("data path boston", 1, &["boston is not in sets: `deepgp data fetch boston` or `deepgp data import FOLDER`"]),
        ("data path creep", 1, &["creep is not in sets: `deepgp data import FOLDER`; its source is"]),
        ("data path nothing", 2, &["there is no data set \"nothing\""]),
        ("data import mine", 1, &["boston: mine/boston/data.csv has 1 rows and 2 columns instead of 506 and 14"]),
        ("data import mine --json", 1, &["boston: mine/boston/data.csv has 1 rows"]),
        ("data import mine energy", 1, &["mine has no data of energy"]),
        ("data import mine bosten", 2, &["did you mean \"boston\"?"]),
        ("data import strange", 1, &["strange holds no data set that is known"]),
        ("data import strange boston", 1, &["boston: strange/data.csv has 1 rows and 2 columns"]),
        ("data import empty", 1, &["empty holds no data set that is known"]),
        ("data import missing", 1, &["cannot look into missing", "No such file"]),
        ("data import file", 1, &["cannot look into file"]),
    ];
    for (line, code, pieces) in cases {
        let done = s.run(line);
        assert_eq!(done.code, *code, "{done:#?}");
        assert!(pieces.iter().all(|piece| done.complaint().contains(piece)) && done.out.is_empty(), "{done:#?}");
        assert_eq!(s.folder.names(), before, "{line}");
    }
    let odd = s.folder.run_in("data fetch boston", &[("DEEPGP_DATA", "sets"), ("DEEPGP_MIRROR", "mirror")]);
    assert!(odd.code == 2 && odd.complaint().contains("DEEPGP_MIRROR is \"mirror\""), "{odd:#?}");
    for line in ["data", "data fetch", "data import", "data frobnicate"] {
        assert_eq!(s.run(line).code, 2, "{line}");
    }
}

#[test]
#[cfg(feature = "demo-data")]
fn a_wrong_table_leaves_the_copy_that_is_there() {
    let s = Session::new("data-kept");
    let csv = wine_csv(&s.folder);
    std::fs::create_dir_all(s.folder.path("mine/wine_red")).expect("folders");
    s.folder.write("mine/wine_red/data.csv", &csv);
    s.run("data import mine --quiet").ok();
    let kept = s.folder.read("sets/wine_red/data.csv");
    s.folder.write("mine/wine_red/data.csv", csv.replacen("7.4", "7.5", 1));
    let done = s.run("data import mine");
    assert!(
        done.code == 1 && done.complaint().starts_with("wine_red: the values in mine/wine_red/data.csv"),
        "{done:#?}"
    );
    assert_eq!(s.folder.read("sets/wine_red/data.csv"), kept);
}

#[test]
fn the_user_s_folder_is_the_default() {
    let f = Folder::new("data-home");
    let home = f.path("home").to_string_lossy().into_owned();
    let list = f.run_in("data list", &[("DEEPGP_DATA", ""), ("XDG_DATA_HOME", ""), ("HOME", &home)]).ok();
    assert!(list.out.ends_with(&format!("\nfolder: {home}/.local/share/deepgp/data\n")), "{list:#?}");
    let xdg = f.path("xdg").to_string_lossy().into_owned();
    let list = f.run_in("data list", &[("DEEPGP_DATA", ""), ("XDG_DATA_HOME", &xdg)]).ok();
    assert!(list.out.ends_with(&format!("\nfolder: {xdg}/deepgp/data\n")), "{list:#?}");
}

#[test]
fn tables_of_known_functions_are_made() {
    let f = Folder::new("make");
    for (function, header) in
        [("step", "x,y"), ("sine-jump", "x,y"), ("ridge", "x1,x2,y"), ("borehole", "r_w,r,T_u,H_u,T_l,H_l,L,K_w,flow")]
    {
        let made = f.run(&format!("data make {function} --rows 30 --seed 2")).ok().out;
        assert_eq!((made.lines().next(), made.lines().count()), (Some(header), 31));
        f.run(&format!("data make {function} --rows 30 --seed 2 -o {function}.csv")).ok();
        assert_eq!(f.read(&format!("{function}.csv")), made);
        assert_ne!(f.run(&format!("data make {function} --rows 30 --noise 0 --seed 2")).ok().out, made);
    }
    f.run("fit ridge.csv --iters 5 --quiet").ok();
    for wrong in
        ["data make step --rows 0", "data make step --noise -1", "data make step --noise nan", "data make stairs"]
    {
        assert_eq!(f.run(wrong).code, 2, "{wrong}");
    }
}
