//! Downloads a file, in as many attempts as it takes, each going on where the last one ended.

use crate::error::{Error, Result};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use ureq::Agent;
use ureq::http::{HeaderMap, StatusCode};

/// Bytes that are read at once.
const READ_BUFFER_BYTES: usize = 1 << 16;
/// The longest that a server may have us wait.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// How patient a download is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patience {
    /// Attempts before it is given up.
    pub attempts: u32,
    /// The pause after the first failed attempt, twice that after the second, and so on.
    pub pause: Duration,
    /// How long to wait for a connection, an answer, or more of the answer.
    pub silence: Duration,
    /// How long one attempt may take in all.
    pub attempt: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            attempts: 4,
            pause: Duration::from_millis(500),
            silence: Duration::from_secs(30),
            attempt: Duration::from_secs(600),
        }
    }
}

/// One file to download.
pub(crate) struct Download<'a> {
    /// The set it belongs to.
    pub name: &'static str,
    pub url: &'a str,
    /// Where to keep it until it is whole, and longer if it never is.
    pub partial: &'a Path,
    /// More bytes than it can have.
    pub limit: u64,
    pub patience: &'a Patience,
}

/// Why an attempt failed.
enum Fault {
    /// Every further attempt would fail.
    Permanent(Error),
    /// Another one may succeed, after a pause that the server may have asked for.
    Transient { what: String, pause: Option<Duration> },
}

impl From<ureq::Error> for Fault {
    fn from(error: ureq::Error) -> Self {
        let what = match error {
            ureq::Error::Timeout(_) => "the server is silent or slow".to_owned(),
            ureq::Error::HostNotFound => "the name of the server cannot be resolved".to_owned(),
            ureq::Error::Io(error) => error.to_string(),
            error => error.to_string(),
        };
        Self::Transient { what, pause: None }
    }
}

/// A client for addresses that begin with `base`; if that is encrypted, it will not be led to one that is not.
pub(crate) fn agent(base: &str, patience: &Patience) -> Agent {
    Agent::config_builder()
        .user_agent(concat!("deepgp/", env!("CARGO_PKG_VERSION")))
        // Lengths and ranges are to count the bytes of the file itself.
        .accept_encoding("identity")
        .http_status_as_error(false)
        .https_only(base.starts_with("https://"))
        .timeout_connect(Some(patience.silence))
        .timeout_recv_response(Some(patience.silence))
        .timeout_per_read(Some(patience.silence))
        .timeout_per_call(Some(patience.attempt))
        .build()
        .into()
}

impl Download<'_> {
    /// The bytes of the file. `progress` is called with how many there are and how many there will be.
    ///
    /// # Errors
    /// [`Error::Unreachable`] after the last attempt, [`Error::Refused`] if another makes no sense, [`Error::Busy`],
    /// [`Error::Io`].
    pub fn run(&self, agent: &Agent, progress: &mut dyn FnMut(u64, Option<u64>)) -> Result<Vec<u8>> {
        let mut file = self.open()?;
        let mut attempts = 1;
        loop {
            let (what, pause) = match self.attempt(agent, &mut file, progress) {
                Ok(()) => break,
                Err(Fault::Permanent(error)) => {
                    drop(file);
                    self.forget();
                    return Err(error);
                }
                Err(Fault::Transient { what, pause }) => (what, pause),
            };
            if attempts == self.patience.attempts {
                if self.resume_point(&file)?.0 == 0 {
                    drop(file);
                    self.forget();
                }
                return Err(Error::Unreachable { name: self.name, url: self.url.to_owned(), what, attempts });
            }
            let doubled = self.patience.pause.saturating_mul(1 << (attempts - 1).min(16));
            std::thread::sleep(pause.unwrap_or(doubled).min(LONGEST_PAUSE));
            attempts += 1;
        }
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_end(&mut bytes)).map_err(|e| self.io("read", e))?;
        Ok(bytes)
    }

    /// Removes what there is of the file.
    pub fn forget(&self) {
        // Whether they were there does not matter.
        let _ = std::fs::remove_file(self.tag_path());
        let _ = std::fs::remove_file(self.partial);
    }

    /// The beginning of the file, for this process alone.
    fn open(&self) -> Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.open(self.partial).map_err(|e| self.io("write", e))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Err(Error::Busy { name: self.name, path: self.partial.to_owned() }),
            // Not every file system has locks.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
        }
    }

    fn attempt(
        &self,
        agent: &Agent,
        file: &mut File,
        progress: &mut dyn FnMut(u64, Option<u64>),
    ) -> std::result::Result<(), Fault> {
        let (have, tag) = self.resume_point(file).map_err(Fault::Permanent)?;
        let mut request = agent.get(self.url);
        if let Some(tag) = tag {
            // Answered with the rest, or with all of it if the file is no longer the same.
            request = request.header("Range", format!("bytes={have}-")).header("If-Range", tag);
        }
        let mut response = request.call()?;
        let headers = response.headers();
        let (mut received, total) = match response.status() {
            StatusCode::OK => {
                self.start_over(file, headers).map_err(Fault::Permanent)?;
                (0, content_length(headers))
            }
            StatusCode::PARTIAL_CONTENT => match content_range(headers) {
                Some((start, total)) if start == have && have > 0 => (have, total),
                _ => {
                    self.empty(file).map_err(Fault::Permanent)?;
                    return Err(Fault::Transient { what: "the server sent another part".to_owned(), pause: None });
                }
            },
            // There is nothing more, or not in this way.
            StatusCode::RANGE_NOT_SATISFIABLE if have > 0 => {
                self.empty(file).map_err(Fault::Permanent)?;
                let what = "the server cannot go on where it left off".to_owned();
                return Err(Fault::Transient { what, pause: Some(Duration::ZERO) });
            }
            status => return Err(self.refusal(status, headers)),
        };
        if total.is_some_and(|total| total > self.limit) {
            return Err(self.too_large());
        }
        file.seek(SeekFrom::Start(received)).map_err(|e| Fault::Permanent(self.io("write", e)))?;
        let (mut body, mut block) =
            (response.body_mut().with_config().limit(u64::MAX).reader(), vec![0; READ_BUFFER_BYTES]);
        progress(received, total);
        loop {
            let n = match body.read(&mut block) {
                Ok(0) => break,
                Ok(n) => n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(ureq::Error::from(error).into()),
            };
            received += n as u64;
            if received > self.limit {
                return Err(self.too_large());
            }
            file.write_all(&block[..n]).map_err(|e| Fault::Permanent(self.io("write", e)))?;
            progress(received, total);
        }
        match total {
            Some(total) if total != received => {
                let what = format!("the server sent {received} of {total} bytes");
                Err(Fault::Transient { what, pause: None })
            }
            _ => Ok(()),
        }
    }

    /// How many bytes there are to go on from, and the tag of the file they belong to. Without a tag nothing tells
    /// whether the file is still the same, so it is fetched anew.
    fn resume_point(&self, file: &File) -> Result<(u64, Option<String>)> {
        let have = self.length(file)?;
        let stored = std::fs::read_to_string(self.tag_path()).unwrap_or_default();
        let tag = stored.strip_prefix(self.url).and_then(|rest| rest.strip_prefix('\n'));
        Ok(match tag {
            Some(tag) if have > 0 && have <= self.limit => (have, Some(tag.to_owned())),
            _ => (0, None),
        })
    }

    /// Makes room for the whole file, and remembers which it is.
    fn start_over(&self, file: &mut File, headers: &HeaderMap) -> Result<()> {
        self.empty(file)?;
        let tag = headers.get("etag").and_then(|tag| tag.to_str().ok());
        // A weak tag does not promise the same bytes.
        if let Some(tag) = tag.filter(|tag| tag.starts_with('"')) {
            std::fs::write(self.tag_path(), format!("{}\n{tag}", self.url)).map_err(|e| self.io("write", e))?;
        }
        Ok(())
    }

    /// Forgets what was received, the tag first, so that it never stands beside bytes of another file.
    fn empty(&self, file: &mut File) -> Result<()> {
        let _ = std::fs::remove_file(self.tag_path());
        file.set_len(0).map_err(|e| self.io("write", e))
    }

    fn length(&self, file: &File) -> Result<u64> {
        file.metadata().map(|metadata| metadata.len()).map_err(|e| self.io("read", e))
    }

    fn tag_path(&self) -> PathBuf {
        let mut path = self.partial.as_os_str().to_owned();
        path.push(".tag");
        path.into()
    }

    fn refusal(&self, status: StatusCode, headers: &HeaderMap) -> Fault {
        let what = format!("the server answers {status}");
        match status.as_u16() {
            408 | 425 | 429 | 500 | 502 | 503 | 504 => {
                let seconds = headers.get("retry-after").and_then(|value| value.to_str().ok()?.trim().parse().ok());
                Fault::Transient { what, pause: seconds.map(Duration::from_secs) }
            }
            _ => self.refused(what),
        }
    }

    fn too_large(&self) -> Fault {
        self.refused(format!("the server sends more than the {} bytes that the file can have", self.limit))
    }

    fn refused(&self, what: String) -> Fault {
        Fault::Permanent(Error::Refused { name: self.name, url: self.url.to_owned(), what })
    }

    fn io(&self, action: &'static str, source: io::Error) -> Error {
        Error::Io { action, path: self.partial.to_owned(), source }
    }
}

/// Bytes that will be sent.
fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get("content-length")?.to_str().ok()?.trim().parse().ok()
}

/// The first byte of the part that will be sent, and the length of the whole: "bytes 5-9/10".
fn content_range(headers: &HeaderMap) -> Option<(u64, Option<u64>)> {
    let (part, total) = headers.get("content-range")?.to_str().ok()?.trim().strip_prefix("bytes ")?.split_once('/')?;
    let start = part.split_once('-')?.0.trim().parse().ok()?;
    Some((start, total.trim().parse().ok()))
}
