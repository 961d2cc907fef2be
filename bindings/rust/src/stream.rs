use std::ffi::CString;
use std::fmt;
use std::ptr;

use crate::error::{check, Code, Error};
use crate::{owned, sys};

/// How a stream's answers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Answers {
    /// As the records are.
    AsRecords = 0,
    Json = 1,
    Csv = 2,
}

/// Records in, answers out: `kalstream stream` without files and pipes.
pub struct Stream {
    handle: *mut sys::kalstream_stream,
}

// SAFETY: a handle may be used by any thread, by one at a time; `&mut self` sees to that.
unsafe impl Send for Stream {}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: it is ours, and nobody uses it any more.
        unsafe { sys::kalstream_stream_free(self.handle) }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stream")
    }
}

impl Stream {
    /// A stream of these settings, a JSON object of the options that `kalstream stream` has.
    pub fn new(settings: &str, answers: Answers) -> Result<Stream, Error> {
        let settings = CString::new(settings).map_err(|_| Error::invalid("a zero byte is in the settings"))?;
        let mut handle = ptr::null_mut();
        // SAFETY: the pointers are valid during the call.
        check(unsafe { sys::kalstream_stream_new(settings.as_ptr(), answers as i32, &mut handle) })?;
        Ok(Stream { handle })
    }

    /// Takes a line of JSON or CSV. The answer; none to a line that says nothing, such as a header.
    pub fn take(&mut self, line: &str) -> Result<Option<String>, Error> {
        let mut answer = ptr::null();
        let mut length = 0;
        // SAFETY: the pointers are valid during the call; the answer lives until the next one, and is copied.
        unsafe {
            check(sys::kalstream_stream_take(self.handle, line.as_ptr().cast(), line.len(), &mut answer, &mut length))?;
            if answer.is_null() {
                return Ok(None);
            }
            let bytes = std::slice::from_raw_parts(answer.cast::<u8>(), length);
            Ok(Some(String::from_utf8_lossy(bytes).into_owned()))
        }
    }

    /// Learns what the last record has brought; every other call does so first.
    pub fn learn(&mut self) -> Result<(), Error> {
        // SAFETY: the handle is ours.
        check(unsafe { sys::kalstream_stream_learn(self.handle) })
    }

    /// What people should know since the last call, a line each.
    pub fn remarks(&mut self) -> Result<String, Error> {
        // SAFETY: the pointers are valid during the call.
        owned::text(|text| unsafe { sys::kalstream_stream_remarks(self.handle, text) })
    }

    /// Which field is what, as JSON.
    pub fn schema(&mut self) -> Result<String, Error> {
        // SAFETY: the pointers are valid during the call.
        owned::text(|json| unsafe { sys::kalstream_stream_schema(self.handle, json) })
    }

    /// What was counted and how good it was, as JSON.
    pub fn status(&mut self) -> Result<String, Error> {
        // SAFETY: the pointers are valid during the call.
        owned::text(|json| unsafe { sys::kalstream_stream_status(self.handle, json) })
    }

    /// The model of a key, "" where there are no keys; none if there is none.
    pub fn state_of(&mut self, key: &str) -> Result<Option<Vec<u8>>, Error> {
        // SAFETY: the pointers are valid during the call.
        let state = owned::bytes(|bytes, size| unsafe {
            sys::kalstream_stream_state_of(self.handle, key.as_ptr().cast(), key.len(), bytes, size)
        });
        found(state)
    }

    /// From now on the key's model is that of these bytes.
    pub fn put_state(&mut self, key: &str, state: &[u8]) -> Result<(), Error> {
        // SAFETY: the slices are valid during the call; any bytes are permitted.
        check(unsafe {
            sys::kalstream_stream_put_state(self.handle, key.as_ptr().cast(), key.len(), state.as_ptr(), state.len())
        })
    }

    /// As if the key had never come; false if it has not.
    pub fn forget(&mut self, key: &str) -> Result<bool, Error> {
        // SAFETY: the slice is valid during the call.
        let done = check(unsafe { sys::kalstream_stream_forget(self.handle, key.as_ptr().cast(), key.len()) });
        Ok(found(done)?.is_some())
    }

    /// The whole stream, all models included.
    pub fn checkpoint(&mut self) -> Result<Vec<u8>, Error> {
        // SAFETY: the pointers are valid during the call.
        owned::bytes(|bytes, size| unsafe { sys::kalstream_stream_checkpoint(self.handle, bytes, size) })
    }

    /// A stream that goes on from a checkpoint, with the settings of then.
    pub fn resume(settings: &str, answers: Answers, checkpoint: &[u8]) -> Result<Stream, Error> {
        let stream = Stream::new(settings, answers)?;
        // SAFETY: the slice is valid during the call; any bytes are permitted.
        check(unsafe { sys::kalstream_stream_resume(stream.handle, checkpoint.as_ptr(), checkpoint.len()) })?;
        Ok(stream)
    }
}

fn found<T>(result: Result<T, Error>) -> Result<Option<T>, Error> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.code == Code::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
