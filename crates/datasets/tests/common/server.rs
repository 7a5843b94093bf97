//! A small HTTP server that does as it is told, right or wrong.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What was asked for.
#[derive(Debug, Clone)]
pub struct Request {
    pub path: String,
    headers: Vec<(String, String)>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(one, _)| one == name).map(|(_, value)| value.as_str())
    }

    /// The first byte of the range asked for.
    pub fn start(&self) -> Option<usize> {
        self.header("range")?.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok()
    }
}

/// What is answered: a status, headers, and bytes as they go over the line.
#[derive(Debug, Clone)]
pub struct Reply {
    status: &'static str,
    headers: Vec<String>,
    body: Vec<u8>,
    repeat: bool,
    pause: Duration,
}

impl Reply {
    pub fn new(status: &'static str) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new(), repeat: false, pause: Duration::ZERO }
    }

    /// The whole file, with a tag.
    pub fn whole(file: &[u8], tag: &str) -> Self {
        Self::new("200 OK")
            .header(&format!("ETag: {tag}"))
            .header(&format!("Content-Length: {}", file.len()))
            .body(file)
    }

    /// What a decent server answers.
    pub fn decent(file: &[u8], request: &Request, tag: &str) -> Self {
        match request.start() {
            Some(start) if request.header("if-range") == Some(tag) && start < file.len() => {
                Self::new("206 Partial Content")
                    .header(&format!("ETag: {tag}"))
                    .header(&format!("Content-Range: bytes {start}-{}/{}", file.len() - 1, file.len()))
                    .header(&format!("Content-Length: {}", file.len() - start))
                    .body(&file[start..])
            }
            Some(start) if start >= file.len() => Self::new("416 Range Not Satisfiable").header("Content-Length: 0"),
            _ => Self::whole(file, tag),
        }
    }

    pub fn header(mut self, line: &str) -> Self {
        self.headers.push(line.to_owned());
        self
    }

    pub fn body(mut self, bytes: &[u8]) -> Self {
        self.body = bytes.to_vec();
        self
    }

    /// Ends the connection after this many bytes of the body, whatever the headers say.
    pub fn cut(mut self, length: usize) -> Self {
        self.body.truncate(length);
        self
    }

    /// Sends the body again and again until nobody listens.
    pub fn endless(mut self) -> Self {
        self.repeat = true;
        self
    }

    /// Waits after the headers, and after each repetition of the body.
    pub fn slow(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    fn send(&self, stream: &mut TcpStream) -> std::io::Result<()> {
        write!(stream, "HTTP/1.1 {}\r\nConnection: close\r\n", self.status)?;
        self.headers.iter().try_for_each(|line| write!(stream, "{line}\r\n"))?;
        stream.write_all(b"\r\n")?;
        stream.flush()?;
        std::thread::sleep(self.pause);
        loop {
            stream.write_all(&self.body)?;
            if !self.repeat {
                return stream.flush();
            }
            std::thread::sleep(self.pause);
        }
    }
}

/// Serves until the test ends.
pub struct Server {
    pub base: String,
    log: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// Answers by a function of the request and the number of requests for the same path before it.
    pub fn new(answer: impl Fn(&Request, usize) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let log = Arc::new(Mutex::new(Vec::<Request>::new()));
        let (shared, answer) = (Arc::clone(&log), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (Ok(mut stream), shared, answer) = (stream, Arc::clone(&shared), Arc::clone(&answer)) else {
                    continue;
                };
                // One that is slow to answer must not keep the next from being heard.
                std::thread::spawn(move || {
                    let Some(request) = read(&stream) else { return };
                    let before = {
                        let mut log = shared.lock().expect("a log");
                        let before = log.iter().filter(|one| one.path == request.path).count();
                        log.push(request.clone());
                        before
                    };
                    // Whether anybody still listens does not matter.
                    let _ = answer(&request, before).send(&mut stream);
                });
            }
        });
        Self { base, log }
    }

    /// All requests for paths that end so.
    pub fn requests(&self, ending: &str) -> Vec<Request> {
        self.log.lock().expect("a log").iter().filter(|request| request.path.ends_with(ending)).cloned().collect()
    }
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let headers = lines
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_once(':').map(|(name, value)| (name.to_lowercase(), value.trim().to_owned())))
        .collect();
    Some(Request { path, headers })
}
