//! Texts and bytes that the library has made for us.
use std::ffi::CStr;
use std::os::raw::{c_char, c_int, c_uchar};
use std::ptr;

use crate::error::{check, Error};
use crate::sys;

pub(crate) fn text(call: impl FnOnce(*mut *mut c_char) -> c_int) -> Result<String, Error> {
    let mut made = ptr::null_mut();
    check(call(&mut made))?;
    // SAFETY: the call has succeeded, so it is a text that ends with a zero byte, and ours to free.
    unsafe {
        let copy = CStr::from_ptr(made).to_string_lossy().into_owned();
        sys::kalstream_free(made.cast());
        Ok(copy)
    }
}

pub(crate) fn bytes(call: impl FnOnce(*mut *mut c_uchar, *mut usize) -> c_int) -> Result<Vec<u8>, Error> {
    let mut made = ptr::null_mut();
    let mut size = 0;
    check(call(&mut made, &mut size))?;
    // SAFETY: the call has succeeded, so there are `size` bytes, and they are ours to free.
    unsafe {
        let copy = std::slice::from_raw_parts(made, size).to_vec();
        sys::kalstream_free(made.cast());
        Ok(copy)
    }
}
