#![doc = include_str!("../README.md")]
#![warn(clippy::undocumented_unsafe_blocks)]

use std::ffi::CStr;

mod error;
mod learner;
mod owned;
mod stream;
pub mod sys;

pub use error::{Code, Error};
pub use learner::{Bounded, Builder, Learner, Report, Status};
pub use stream::{Answers, Stream};

/// Of the library that is linked: "0.3.0".
pub fn version() -> &'static str {
    // SAFETY: it lives for ever, and is plain text.
    unsafe { CStr::from_ptr(sys::kalstream_version()) }.to_str().unwrap_or("")
}

/// All learners with all their settings, as JSON.
pub fn learners() -> Result<String, Error> {
    // SAFETY: the pointer is valid during the call.
    owned::text(|json| unsafe { sys::kalstream_learners(json) })
}

/// What a snapshot or a checkpoint holds, as JSON.
pub fn describe(bytes: &[u8]) -> Result<String, Error> {
    // SAFETY: the pointers are valid during the call; any bytes are permitted.
    owned::text(|json| unsafe { sys::kalstream_describe(bytes.as_ptr(), bytes.len(), json) })
}
