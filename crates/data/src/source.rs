//! Where a table comes from: a file, standard input, or memory.

use crate::error::{Error, Result};
#[cfg(feature = "columnar")]
use crate::memory::MemoryTable;
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufReader, Chain, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file, standard input, or bytes in memory, plain or compressed by gzip; or columns in memory.
#[derive(Debug, Clone)]
pub struct Source {
    /// Named in errors.
    label: PathBuf,
    origin: Origin,
}

#[derive(Debug, Clone)]
enum Origin {
    File,
    StandardInput,
    Spooled(Arc<Spool>),
    Memory(Arc<[u8]>),
    #[cfg(feature = "columnar")]
    Columns(Arc<MemoryTable>),
}

impl Source {
    /// The file at `path`; `-` is standard input.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        if path.as_os_str() == "-" {
            Self { label: PathBuf::from("standard input"), origin: Origin::StandardInput }
        } else {
            Self { label: path, origin: Origin::File }
        }
    }

    /// Bytes in memory, called `label` in errors.
    pub fn from_bytes(label: impl Into<PathBuf>, bytes: impl Into<Arc<[u8]>>) -> Self {
        Self { label: label.into(), origin: Origin::Memory(bytes.into()) }
    }

    /// Columns in memory, called `label` in errors.
    #[cfg(feature = "columnar")]
    pub fn from_columns(label: impl Into<PathBuf>, table: impl Into<Arc<MemoryTable>>) -> Self {
        Self { label: label.into(), origin: Origin::Columns(table.into()) }
    }

    /// The columns, if that is what it is.
    #[cfg(feature = "columnar")]
    pub(crate) fn columns(&self) -> Option<&Arc<MemoryTable>> {
        match &self.origin {
            Origin::Columns(table) => Some(table),
            _ => None,
        }
    }

    /// The name that errors give it.
    pub fn label(&self) -> &Path {
        &self.label
    }

    /// This source, able to be read more than once: what can flow by only once is copied to a temporary file, which
    /// goes when the last clone of the source does.
    ///
    /// # Errors
    /// [`Error::Read`] if standard input or the temporary file fails.
    pub fn spool(self) -> Result<Self> {
        // A named pipe is a path that can be read once, too.
        let flows_by = match self.origin {
            Origin::StandardInput => true,
            Origin::File => std::fs::metadata(&self.label).is_ok_and(|m| !m.is_file()),
            Origin::Spooled(_) | Origin::Memory(_) => false,
            #[cfg(feature = "columnar")]
            Origin::Columns(_) => false,
        };
        if !flows_by {
            return Ok(self);
        }
        let spool = Spool::new(&mut self.raw()?).map_err(|cause| self.read_error(cause))?;
        Ok(Self { label: self.label, origin: Origin::Spooled(Arc::new(spool)) })
    }

    /// The bytes, decompressed, with the first `Content::HEAD` ones to look at.
    pub(crate) fn open(&self) -> Result<Content> {
        let raw = Content::peek(self.raw()?).map_err(|cause| self.read_error(cause))?;
        if !raw.head.starts_with(&[0x1f, 0x8b]) {
            return Ok(raw);
        }
        let mut plain = Content::peek(Box::new(MultiGzDecoder::new(BufReader::new(raw.into_reader()))))
            .map_err(|cause| self.read_error(cause))?;
        plain.is_compressed = true;
        Ok(plain)
    }

    /// All of it as text, decompressed.
    ///
    /// # Errors
    /// [`Error::Read`], also for what is not UTF-8 and for columns in memory.
    pub fn text(&self) -> Result<String> {
        let mut text = String::new();
        self.open()?.into_reader().read_to_string(&mut text).map_err(|cause| self.read_error(cause))?;
        Ok(text)
    }

    /// The bytes of `content`, which this source has opened, in any order: for formats that are read from their end.
    #[cfg_attr(not(feature = "columnar"), expect(dead_code, reason = "text is read from its beginning"))]
    pub(crate) fn seekable(&self, content: Content) -> Result<Box<dyn ReadSeek>> {
        let is_file = || std::fs::metadata(&self.label).is_ok_and(|m| m.is_file());
        let file = match &self.origin {
            Origin::Memory(bytes) if !content.is_compressed => return Ok(Box::new(Cursor::new(bytes.clone()))),
            Origin::File if !content.is_compressed && is_file() => File::open(&self.label),
            Origin::Spooled(spool) if !content.is_compressed => spool.open(),
            _ => Spool::copy(&mut content.into_reader()),
        };
        Ok(Box::new(file.map_err(|cause| self.read_error(cause))?))
    }

    pub(crate) fn read_error(&self, cause: io::Error) -> Error {
        Error::Read { path: self.label.clone(), cause }
    }

    fn raw(&self) -> Result<Box<dyn Read + Send>> {
        Ok(match &self.origin {
            Origin::File => Box::new(File::open(&self.label).map_err(|cause| self.read_error(cause))?),
            Origin::StandardInput => Box::new(io::stdin()),
            Origin::Spooled(spool) => Box::new(spool.open().map_err(|cause| self.read_error(cause))?),
            Origin::Memory(bytes) => Box::new(Cursor::new(bytes.clone())),
            #[cfg(feature = "columnar")]
            Origin::Columns(_) => {
                let cause = io::Error::new(io::ErrorKind::Unsupported, "columns in memory have no bytes to read");
                return Err(self.read_error(cause));
            }
        })
    }
}

/// Bytes that can be read in any order.
pub(crate) trait ReadSeek: Read + Seek + Send {}

impl<T: Read + Seek + Send> ReadSeek for T {}

/// A stream of bytes whose beginning can be looked at.
pub(crate) struct Content {
    pub head: Vec<u8>,
    rest: Box<dyn Read + Send>,
    is_compressed: bool,
}

impl Content {
    /// Enough for the header and a row of the widest tables, from which delimiter and header are guessed.
    pub const HEAD: usize = 1 << 20;

    fn peek(mut rest: Box<dyn Read + Send>) -> io::Result<Self> {
        let mut head = Vec::new();
        rest.by_ref().take(Self::HEAD as u64).read_to_end(&mut head)?;
        Ok(Self { head, rest, is_compressed: false })
    }

    /// Whether the head is all there is.
    pub fn is_whole(&self) -> bool {
        self.head.len() < Self::HEAD
    }

    /// The stream from its beginning.
    pub fn into_reader(self) -> Chain<Cursor<Vec<u8>>, Box<dyn Read + Send>> {
        Cursor::new(self.head).chain(self.rest)
    }
}

/// A temporary file without a second name: it is gone once nobody reads it.
#[derive(Debug)]
struct Spool {
    path: PathBuf,
}

impl Spool {
    fn new(bytes: &mut dyn Read) -> io::Result<Self> {
        let (spool, mut file) = Self::create()?;
        io::copy(bytes, &mut file)?;
        Ok(spool)
    }

    /// The copied bytes in a file that has no name left where the system allows that.
    fn copy(bytes: &mut dyn Read) -> io::Result<File> {
        let (_unlinked_at_the_end, mut file) = Self::create()?;
        io::copy(bytes, &mut file)?;
        file.seek(SeekFrom::Start(0))?;
        Ok(file)
    }

    fn create() -> io::Result<(Self, File)> {
        let folder = std::env::temp_dir();
        let mut options = File::options();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        for attempt in 0_u32.. {
            let path = folder.join(format!("deepgp-{}-{attempt}", std::process::id()));
            match options.open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 10_000 => {}
                file => return Ok((Self { path }, file?)),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    fn open(&self) -> io::Result<File> {
        File::open(&self.path)
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        // Nobody is left to tell if the system refuses; it clears its folder of temporary files itself.
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn text(source: &Source) -> String {
        let mut text = String::new();
        source
            .open()
            .and_then(|c| c.into_reader().read_to_string(&mut text).map_err(|e| source.read_error(e)))
            .unwrap();
        text
    }

    #[test]
    fn gzip_is_known_by_its_first_bytes() -> io::Result<()> {
        // Two members one after the other, as `cat a.gz b.gz` leaves them.
        let mut packed = Vec::new();
        for part in ["a,b\n", "1,2\n"] {
            let mut encoder = GzEncoder::new(&mut packed, Compression::default());
            encoder.write_all(part.as_bytes())?;
            encoder.finish()?;
        }
        assert_eq!(text(&Source::from_bytes("t.csv", packed.clone())), "a,b\n1,2\n");
        let broken = Source::from_bytes("t.csv", &packed[..packed.len() - 9]);
        assert!(matches!(broken.open(), Err(Error::Read { .. })));
        Ok(())
    }

    #[test]
    fn what_is_spooled_is_read_twice_and_leaves_nothing() -> io::Result<()> {
        let spool = Spool::new(&mut &b"x,y\n1,2\n"[..])?;
        let path = spool.path.clone();
        let source = Source { label: "standard input".into(), origin: Origin::Spooled(Arc::new(spool)) };
        assert_eq!((text(&source), text(&source.clone())), ("x,y\n1,2\n".into(), "x,y\n1,2\n".into()));
        assert!(path.exists());
        drop(source);
        assert!(!path.exists());
        Ok(())
    }

    #[test]
    fn a_dash_is_standard_input() {
        assert_eq!(Source::new("-").label(), Path::new("standard input"));
        assert!(matches!(Source::new("/no/such/file").open(), Err(Error::Read { .. })));
    }
}
