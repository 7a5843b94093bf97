//! Downloads from a server that behaves, and from servers that do not.
#![cfg(feature = "fetch")]

mod common;
#[path = "common/server.rs"]
mod server;

use common::{Folder, wine, wine_csv, wine_lines, wine_values};
use deepgp_datasets::{Dataset, Error, FetchOptions, Patience, Result, Set};
use server::{Reply, Request, Server};
use std::net::TcpListener;
use std::time::{Duration, Instant};

const TAG: &str = "\"one\"";

/// Quick to try again, slow to give up.
fn options(base: &str) -> FetchOptions {
    let patience = Patience {
        attempts: 3,
        pause: Duration::from_millis(1),
        silence: Duration::from_secs(10),
        attempt: Duration::from_secs(30),
    };
    FetchOptions { base: base.to_owned(), patience }
}

fn fetch(folder: &Folder, options: &FetchOptions) -> Result<Dataset> {
    folder.store().fetch(wine(), options, &mut |_| {})
}

/// The table as the public home has it.
fn table() -> Vec<u8> {
    wine_lines(" ").into_bytes()
}

/// The files of red wine, as its home has them, apart from the table.
fn small(request: &Request) -> Option<Reply> {
    let text = match request.path.rsplit('/').next()? {
        "index_features.txt" => "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n",
        "index_target.txt" => "11\n",
        _ => return None,
    };
    Some(Reply::whole(text.as_bytes(), TAG))
}

/// A server whose table is answered as `answer` says.
fn serve(answer: impl Fn(&Request, usize) -> Reply + Send + Sync + 'static) -> Server {
    Server::new(move |request, before| small(request).unwrap_or_else(|| answer(request, before)))
}

#[track_caller]
fn assert_wine(folder: &Folder, data: &Dataset) {
    let (x, targets) = wine_values();
    assert!(data.x == x && data.targets == targets);
    assert_eq!(folder.store().load("wine_red").expect("stored"), *data);
    assert_eq!(folder.files(), ["store/wine_red/data.csv"]);
}

#[test]
fn a_set_is_downloaded_checked_and_kept() -> Result<()> {
    let (f, server) = (Folder::new("success"), serve(|request, _| Reply::decent(&table(), request, TAG)));
    let mut seen = Vec::new();
    let data = f.store().fetch(wine(), &options(&server.base), &mut |p| {
        seen.push((p.file.to_owned(), p.received, p.total));
    })?;
    assert_wine(&f, &data);
    let length = table().len() as u64;
    assert!(
        seen.contains(&("data.txt".into(), 0, Some(length)))
            && seen.contains(&("data.txt".into(), length, Some(length)))
    );
    let requests = server.requests("");
    assert_eq!(requests.len(), 3);
    for request in requests {
        assert!(
            request.path.starts_with("/yaringal/") && request.path.contains("/UCI_Datasets/wine-quality-red/data/")
        );
        assert_eq!((request.header("range"), request.header("accept-encoding")), (None, Some("identity")));
        assert!(request.header("user-agent").is_some_and(|agent| agent.starts_with("deepgp/")));
    }
    Ok(())
}

#[test]
fn a_cut_connection_is_taken_up_again() -> Result<()> {
    let (f, half) = (Folder::new("cut"), table().len() / 2);
    let server = serve(move |request, before| match before {
        0 => Reply::whole(&table(), TAG).cut(half),
        _ => Reply::decent(&table(), request, TAG),
    });
    assert_wine(&f, &fetch(&f, &options(&server.base))?);
    let requests = server.requests("data.txt");
    assert_eq!(requests.len(), 2);
    assert_eq!((requests[1].start(), requests[1].header("if-range")), (Some(half), Some(TAG)));
    Ok(())
}

#[test]
fn a_later_call_goes_on_where_the_last_one_failed() -> Result<()> {
    let (f, part) = (Folder::new("later"), 10_000);
    let server = serve(move |request, before| match before {
        0 => Reply::whole(&table(), TAG).cut(part),
        _ => Reply::decent(&table(), request, TAG),
    });
    let mut hasty = options(&server.base);
    hasty.patience.attempts = 1;
    let fault = fetch(&f, &hasty).expect_err("cut");
    assert!(matches!(fault, Error::Unreachable { attempts: 1, .. }), "{fault}");
    assert_eq!(f.files(), ["store/.partial/wine_red-data.txt", "store/.partial/wine_red-data.txt.tag"]);
    assert_wine(&f, &fetch(&f, &hasty)?);
    assert_eq!(server.requests("data.txt")[1].start(), Some(part));

    // What came from another address is not gone on with.
    fetch_part(&f, part);
    assert_wine(&f, &fetch(&f, &hasty)?);
    assert_eq!(server.requests("data.txt")[2].start(), None);
    Ok(())
}

/// Leaves a part of the table that came from another server.
fn fetch_part(folder: &Folder, part: usize) {
    let other = serve(move |_, _| Reply::whole(&table(), TAG).cut(part));
    let mut hasty = options(&other.base);
    hasty.patience.attempts = 1;
    assert!(fetch(folder, &hasty).is_err() && folder.files().len() == 3);
}

#[test]
fn a_server_without_ranges_starts_over() -> Result<()> {
    let (f, part) = (Folder::new("no-ranges"), 5000);
    let server = serve(move |_, before| match before {
        0 => Reply::whole(&table(), TAG).cut(part),
        _ => Reply::whole(&table(), TAG),
    });
    assert_wine(&f, &fetch(&f, &options(&server.base))?);
    assert_eq!(server.requests("data.txt")[1].start(), Some(part));
    Ok(())
}

#[test]
fn a_file_that_has_changed_is_fetched_anew() -> Result<()> {
    let f = Folder::new("changed");
    // First a part of something else, then, under another tag, the right file.
    let server = serve(|request, before| match before {
        0 => Reply::whole(&b"1 2 3\n".repeat(20_000), "\"old\"").cut(4000),
        _ => Reply::decent(&table(), request, TAG),
    });
    assert_wine(&f, &fetch(&f, &options(&server.base))?);
    assert_eq!(server.requests("data.txt")[1].header("if-range"), Some("\"old\""));
    Ok(())
}

#[test]
fn without_a_strong_tag_nothing_is_gone_on_with() -> Result<()> {
    for tag in ["ETag: W/\"weak\"", "X-No: tag"] {
        let f = Folder::new("weak");
        let server = serve(move |_, before| {
            let reply =
                Reply::new("200 OK").header(tag).header(&format!("Content-Length: {}", table().len())).body(&table());
            if before == 0 { reply.cut(3000) } else { reply }
        });
        assert_wine(&f, &fetch(&f, &options(&server.base))?);
        assert_eq!(server.requests("data.txt")[1].start(), None, "{tag}");
    }
    // Nor is it kept.
    let (f, server) = (Folder::new("weak"), serve(|_, _| Reply::whole(&table(), "W/\"weak\"").cut(3000)));
    assert!(matches!(fetch(&f, &options(&server.base)), Err(Error::Unreachable { .. })));
    assert!(!f.path("store").exists());
    Ok(())
}

#[test]
fn another_part_than_asked_for_is_not_taken() -> Result<()> {
    let f = Folder::new("other-part");
    let length = table().len();
    let server = serve(move |request, before| match before {
        0 => Reply::whole(&table(), TAG).cut(5000),
        1 => Reply::new("206 Partial Content")
            .header(&format!("Content-Range: bytes 100-{}/{length}", length - 1))
            .header(&format!("Content-Length: {}", length - 100))
            .body(&table()[100..]),
        _ => Reply::decent(&table(), request, TAG),
    });
    assert_wine(&f, &fetch(&f, &options(&server.base))?);
    assert_eq!(server.requests("data.txt")[2].start(), None);
    Ok(())
}

#[test]
fn a_part_that_is_the_whole_is_fetched_anew() -> Result<()> {
    let f = Folder::new("whole-part");
    // The table arrives, the next file does not.
    let server = Server::new(|request, before| match small(request) {
        Some(_) if before == 0 && request.path.ends_with("index_target.txt") => Reply::new("503 Busy"),
        Some(reply) => reply,
        None => Reply::decent(&table(), request, TAG),
    });
    let mut hasty = options(&server.base);
    hasty.patience.attempts = 1;
    assert!(matches!(fetch(&f, &hasty), Err(Error::Unreachable { .. })));
    assert_wine(&f, &fetch(&f, &options(&server.base))?);
    let starts: Vec<_> = server.requests("data.txt").iter().map(Request::start).collect();
    assert_eq!(starts, [None, Some(table().len()), None]);
    Ok(())
}

#[test]
fn what_is_not_there_is_not_asked_for_twice() {
    for (status, at) in [("404 Not Found", "data.txt"), ("403 Forbidden", "index_target.txt"), ("451 No", "data.txt")] {
        let f = Folder::new("missing");
        let server = Server::new(move |request, _| {
            if request.path.ends_with(at) {
                return Reply::new(status).header("Content-Length: 4").body(b"gone");
            }
            small(request).unwrap_or_else(|| Reply::decent(&table(), request, TAG))
        });
        let fault = fetch(&f, &options(&server.base)).expect_err(status);
        assert!(matches!(fault, Error::Refused { .. }), "{fault}");
        let text = fault.to_string();
        assert!(text.starts_with(&format!("wine_red: cannot fetch {}/yaringal/", server.base)), "{text}");
        assert!(
            text.contains(&format!("the server answers {}", &status[..3])) && text.contains("import FOLDER"),
            "{text}"
        );
        assert_eq!(server.requests(at).len(), 1);
        assert!(!f.path("store").exists(), "{:?}", f.files());
    }
}

#[test]
fn a_server_in_trouble_is_asked_again() -> Result<()> {
    for trouble in ["500 Oops", "503 Busy", "429 Slow down", "408 Late"] {
        let f = Folder::new("trouble");
        let server = serve(move |request, before| match before {
            0 | 1 => Reply::new(trouble).header("Retry-After: 0").header("Content-Length: 0"),
            _ => Reply::decent(&table(), request, TAG),
        });
        assert_wine(&f, &fetch(&f, &options(&server.base))?);
        assert_eq!(server.requests("data.txt").len(), 3);
    }
    let (f, server) = (Folder::new("trouble"), serve(|_, _| Reply::new("502 Bad").header("Content-Length: 0")));
    let fault = fetch(&f, &options(&server.base)).expect_err("trouble").to_string();
    assert!(fault.contains("the server answers 502") && fault.contains(", 3 times; try again later"), "{fault}");
    assert_eq!(server.requests("data.txt").len(), 3);
    assert!(!f.path("store").exists());
    Ok(())
}

#[test]
fn redirects_are_followed_with_the_range() -> Result<()> {
    let f = Folder::new("redirect");
    let other = serve(|request, before| match before {
        0 => Reply::whole(&table(), TAG).cut(7000),
        _ => Reply::decent(&table(), request, TAG),
    });
    let target = other.base.clone();
    let server = serve(move |request, _| {
        Reply::new("302 Found").header(&format!("Location: {target}{}", request.path)).header("Content-Length: 0")
    });
    assert_wine(&f, &fetch(&f, &options(&server.base))?);
    assert_eq!(other.requests("data.txt")[1].start(), Some(7000));

    let f = Folder::new("redirect-loop");
    let server = serve(|request, _| {
        Reply::new("302 Found").header(&format!("Location: {}", request.path)).header("Content-Length: 0")
    });
    let fault = fetch(&f, &options(&server.base)).expect_err("a loop");
    assert!(fault.to_string().contains("redirect"), "{fault}");
    assert!(!f.path("store").exists());
    Ok(())
}

#[test]
fn wrong_values_are_refused_and_the_old_copy_stays() -> Result<()> {
    let f = Folder::new("wrong");
    f.write("store/wine_red/data.csv", wine_csv());
    let server = serve(|request, _| {
        let wrong = wine_lines(" ").replacen("7.4", "7.5", 1);
        Reply::decent(wrong.as_bytes(), request, TAG)
    });
    let fault = fetch(&f, &options(&server.base)).expect_err("wrong values");
    assert!(matches!(fault, Error::Values { .. }), "{fault}");
    let text = fault.to_string();
    assert!(text.contains(&server.base) && text.contains(wine().values_sha256), "{text}");
    assert_eq!(f.files(), ["store/wine_red/data.csv"]);
    f.store().load("wine_red").map(drop)
}

#[test]
fn a_page_in_place_of_the_table_is_refused() {
    let f = Folder::new("page");
    let page = b"<!DOCTYPE html><html><body>Please log in</body></html>";
    let server = serve(move |_, _| Reply::whole(page, TAG));
    let fault = fetch(&f, &options(&server.base)).expect_err("a page").to_string();
    assert!(fault.contains("data.txt: this is a web page"), "{fault}");
    assert!(f.files().is_empty(), "{:?}", f.files());
}

#[test]
fn a_body_that_is_always_too_short_is_given_up() {
    let f = Folder::new("short");
    // Without ranges, so that nothing is gained.
    let server = serve(|_, _| Reply::whole(&table(), TAG).cut(1000));
    let fault = fetch(&f, &options(&server.base)).expect_err("short");
    assert!(matches!(fault, Error::Unreachable { attempts: 3, .. }), "{fault}");
    assert_eq!(server.requests("data.txt").len(), 3);
}

#[test]
fn without_a_server_the_address_is_named_and_import_is_offered() {
    let f = Folder::new("offline");
    let base = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        format!("http://{}", listener.local_addr().expect("an address"))
    };
    let fault = fetch(&f, &options(&base)).expect_err("nobody there").to_string();
    assert!(fault.starts_with(&format!("wine_red: cannot fetch {base}/yaringal/")), "{fault}");
    assert!(fault.to_lowercase().contains("refused") && fault.contains("`deepgp data import FOLDER`"), "{fault}");
    assert!(!f.path("store").exists());
    let fault = fetch(&f, &options("http://no-such-host.invalid")).expect_err("no name").to_string();
    assert!(fault.contains("http://no-such-host.invalid/yaringal/") && fault.contains("import FOLDER"), "{fault}");
}

#[test]
fn more_than_the_file_can_have_is_not_read() {
    let f = Folder::new("endless");
    let lines = b"7.4 0.7 0 1.9 0.076 11 34 0.9978 3.51 0.56 9.4 5\n".repeat(1000);
    let endless = {
        let lines = lines.clone();
        serve(move |_, _| Reply::new("200 OK").body(&lines).endless())
    };
    let claimed = serve(move |_, _| Reply::new("200 OK").header("Content-Length: 99999999999").body(&lines).endless());
    for server in [endless, claimed] {
        let fault = fetch(&f, &options(&server.base)).expect_err("endless");
        assert!(matches!(fault, Error::Refused { .. }), "{fault}");
        assert!(fault.to_string().contains("the server sends more than the 1024000 bytes"), "{fault}");
        assert_eq!(server.requests("data.txt").len(), 1);
        assert!(!f.path("store").exists());
    }
}

#[test]
fn a_silent_server_is_given_up() {
    let mut impatient = options("");
    impatient.patience = Patience {
        attempts: 2,
        silence: Duration::from_millis(200),
        attempt: Duration::from_secs(1),
        ..impatient.patience
    };
    let long = Duration::from_secs(20);
    let silent = serve(move |_, _| Reply::whole(&table(), TAG).slow(long));
    // Bytes come, each in time, and the whole never.
    let trickle = serve(|_, _| {
        Reply::new("200 OK").header("Content-Length: 90000").body(b"7.4 ").endless().slow(Duration::from_millis(50))
    });
    let mute = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mute = (format!("http://{}", mute.local_addr().expect("an address")), mute);
    for base in [&silent.base, &trickle.base, &mute.0] {
        let f = Folder::new("silent");
        let started = Instant::now();
        let fault =
            fetch(&f, &FetchOptions { base: base.clone(), ..impatient.clone() }).expect_err("silence").to_string();
        assert!(fault.contains("the server is silent or slow, 2 times"), "{fault}");
        assert!(started.elapsed() < long / 2, "{:?}", started.elapsed());
    }
}

#[test]
fn what_is_not_http_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let base = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            use std::io::Write;
            let _ = stream.and_then(|mut stream| stream.write_all(b"SSH-2.0-OpenSSH_9.6\r\n\r\n"));
        }
    });
    let f = Folder::new("not-http");
    let fault = fetch(&f, &options(&base)).expect_err("no HTTP");
    assert!(matches!(fault, Error::Unreachable { .. }), "{fault}");
    assert!(!f.path("store").exists());
}

#[test]
fn two_at_a_time_do_not_mix() {
    let f = Folder::new("two");
    let server = serve(|_, _| Reply::whole(&table(), TAG).slow(Duration::from_millis(1500)));
    let (store, patient) = (f.store(), options(&server.base));
    let first = std::thread::spawn(move || store.fetch(wine(), &patient, &mut |_| {}).map(drop));
    while server.requests("data.txt").is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let second = fetch(&f, &options(&server.base));
    assert!(matches!(second, Err(Error::Busy { name: "wine_red", .. })), "{second:?}");
    assert!(first.join().expect("no panic").is_ok());
    assert_eq!(f.files(), ["store/wine_red/data.csv"]);
}

#[test]
fn sets_without_a_home_say_where_they_are() {
    let f = Folder::new("no-home");
    let creep = Set::find("creep").expect("known");
    let fault = f.store().fetch(creep, &options("http://127.0.0.1:1"), &mut |_| {}).expect_err("no home").to_string();
    assert!(fault.starts_with("creep cannot be fetched: its source is a spreadsheet"), "{fault}");
    assert!(!f.path("store").exists());
}
