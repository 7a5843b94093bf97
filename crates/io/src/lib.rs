//! Model files and checkpoints: bytes ↔ plain structs, and writes that a crash cannot tear.
//!
//! A file is a header of JSON and the numbers it refers to, as they stand in memory:
//!
//! ```text
//!  0  magic       89 'D' 'G' 'P' 0D 0A 1A 0A
//!  8  kind        "MODL", "CKPT" or "SRCH"
//! 12  version     u32, little endian like everything here
//! 16  H           u64, bytes of JSON, a multiple of 8
//! 24  F           u64, count of float64
//! 32  JSON        H bytes of UTF-8, {"deepgp": version of the writer, "body": …}, filled up with spaces
//!     floats      8 F bytes
//!     checksum    u32, CRC-32 (that of zip) of everything before it
//! ```
//! An array of float64 in the body is written `{"$f64": [start, count]}`. Everything else is what serde would make of
//! it in JSON, except that a single number that is not finite is one of the strings "NaN", "inf" and "-inf". A few
//! lines of Python read it:
//!
//! ```python
//! data = open(path, "rb").read()
//! h, f = struct.unpack_from("<QQ", data, 16)
//! floats = numpy.frombuffer(data, "<f8", f, 32 + h)
//! body = json.loads(data[32:32 + h], object_hook=lambda d: floats[d["$f64"][0]:][:d["$f64"][1]] if "$f64" in d else d)["body"]
//! ```
//! A reader believes nothing: sizes are compared with the file's length before anything is allocated, the JSON is
//! bounded, and no more floats are handed out than there are in the file. This crate knows no type of the other crates:
//! what a model or a checkpoint consists of is said by `deepgp-task`.
//!
//! ```
//! use deepgp_io::{Kind, decode, encode};
//!
//! let bytes = encode(Kind::Model, &("weights", vec![1.0, -0.0, 5e-324]))?;
//! let (name, weights): (String, Vec<f64>) = decode(Kind::Model, &bytes)?;
//! assert!(name == "weights" && weights[1].is_sign_negative() && weights[2] == 5e-324);
//! # Ok::<(), deepgp_io::FormatError>(())
//! ```

mod atomic;
mod container;
mod error;
mod kind;
mod read;
mod tree;
mod write;

pub use atomic::{remove_leftovers, write_atomic};
pub use container::{FORMAT_VERSION, decode, encode, load, save, seal, unseal};
pub use error::{FileError, FormatError};
pub use kind::Kind;
