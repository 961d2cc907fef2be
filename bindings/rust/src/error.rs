use std::ffi::CStr;
use std::fmt;
use std::os::raw::c_int;

use crate::sys;

/// What kind of thing went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Code {
    /// A wrong size, or a name or value that is not known.
    Invalid,
    /// A number is not finite, or beyond 1e100: nothing has changed.
    Unusable,
    /// Bytes that are no snapshot, a damaged one, or of a newer version.
    Snapshot,
    /// A record has other fields than the stream that was learnt from.
    Schema,
    /// There is no model of this key.
    NotFound,
    /// There is not enough memory.
    Memory,
    /// A mistake in kalstream itself.
    Internal,
}

/// What was wrong, in a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub code: Code,
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl Error {
    pub(crate) fn invalid(message: &str) -> Self {
        Error { code: Code::Invalid, message: message.to_string() }
    }
}

/// The error of the call that returned this code, if it is one.
pub(crate) fn check(code: c_int) -> Result<(), Error> {
    let kind = match code {
        0 => return Ok(()),
        1 => Code::Invalid,
        2 => Code::Unusable,
        3 => Code::Snapshot,
        4 => Code::Schema,
        5 => Code::NotFound,
        6 => Code::Memory,
        _ => Code::Internal,
    };
    // SAFETY: never null, and it lives until this thread's next call that fails.
    let message = unsafe { CStr::from_ptr(sys::kalstream_error()) };
    Err(Error { code: kind, message: message.to_string_lossy().into_owned() })
}
