//! kalstream.h, as it is. Use the safe types of this crate instead; this is for what they leave out.
#![allow(non_camel_case_types)]

use std::os::raw::{c_char, c_int, c_uchar, c_uint, c_void};

/// The version of the header that this was written after.
pub const KALSTREAM_ABI: c_uint = 1;

#[repr(C)]
pub struct kalstream_learner {
    _private: [u8; 0],
}

#[repr(C)]
pub struct kalstream_stream {
    _private: [u8; 0],
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kalstream_report {
    pub size: usize,
    pub status: i32,
    pub reserved: i32,
    pub experts: u64,
    pub applied: u64,
    pub rejected: u64,
    pub covariance_trace: f64,
}

type Learner = *mut kalstream_learner;
type Stream = *mut kalstream_stream;

extern "C" {
    pub fn kalstream_version() -> *const c_char;
    pub fn kalstream_require_abi(abi: c_uint) -> c_int;
    pub fn kalstream_error() -> *const c_char;
    pub fn kalstream_free(memory: *mut c_void);
    pub fn kalstream_learners(json: *mut *mut c_char) -> c_int;
    pub fn kalstream_describe(bytes: *const c_uchar, size: usize, json: *mut *mut c_char) -> c_int;

    pub fn kalstream_learner_new(
        name: *const c_char,
        inputs: usize,
        outputs: usize,
        settings: *const *const c_char,
        learner: *mut Learner,
    ) -> c_int;
    pub fn kalstream_learner_free(learner: Learner);
    pub fn kalstream_learner_clone(learner: Learner, copy: *mut Learner) -> c_int;
    pub fn kalstream_learner_reset(learner: Learner) -> c_int;
    pub fn kalstream_learner_size(
        learner: Learner,
        inputs: *mut usize,
        outputs: *mut usize,
        samples: *mut u64,
    ) -> c_int;
    pub fn kalstream_learner_predict(
        learner: Learner,
        x: *const f64,
        inputs: usize,
        d_hat: *mut f64,
        outputs: usize,
    ) -> c_int;
    pub fn kalstream_learner_interval(
        learner: Learner,
        x: *const f64,
        inputs: usize,
        d_hat: *mut f64,
        low: *mut f64,
        high: *mut f64,
        outputs: usize,
    ) -> c_int;
    pub fn kalstream_learner_surprise(
        learner: Learner,
        x: *const f64,
        inputs: usize,
        d: *const f64,
        p: *mut f64,
        outputs: usize,
    ) -> c_int;
    pub fn kalstream_learner_learn(
        learner: Learner,
        x: *const f64,
        inputs: usize,
        d: *const f64,
        outputs: usize,
        report: *mut kalstream_report,
    ) -> c_int;
    pub fn kalstream_learner_advance(
        learner: Learner,
        x: *const f64,
        inputs: usize,
        report: *mut kalstream_report,
    ) -> c_int;
    pub fn kalstream_learner_observe(
        learner: Learner,
        x: *const f64,
        inputs: usize,
        d: *const f64,
        outputs: usize,
        report: *mut kalstream_report,
    ) -> c_int;
    pub fn kalstream_learner_forecast(
        learner: Learner,
        horizon: usize,
        future: *const f64,
        future_size: usize,
        d_hat: *mut f64,
        low: *mut f64,
        high: *mut f64,
        size: usize,
    ) -> c_int;
    pub fn kalstream_learner_expect_periods(learner: Learner, samples: *const f64, count: usize) -> c_int;
    pub fn kalstream_learner_experts(learner: Learner, experts: *mut usize) -> c_int;
    pub fn kalstream_learner_weights(learner: Learner, weights: *mut f64, experts: usize) -> c_int;
    pub fn kalstream_learner_expert_name(learner: Learner, expert: usize, name: *mut *const c_char) -> c_int;
    pub fn kalstream_learner_snapshot(learner: Learner, bytes: *mut *mut c_uchar, size: *mut usize) -> c_int;
    pub fn kalstream_learner_save(learner: Learner, bytes: *mut *mut c_uchar, size: *mut usize) -> c_int;
    pub fn kalstream_learner_load(
        bytes: *const c_uchar,
        size: usize,
        settings: *const *const c_char,
        learner: *mut Learner,
    ) -> c_int;

    pub fn kalstream_stream_new(settings: *const c_char, answers: c_int, stream: *mut Stream) -> c_int;
    pub fn kalstream_stream_free(stream: Stream);
    pub fn kalstream_stream_take(
        stream: Stream,
        line: *const c_char,
        length: usize,
        answer: *mut *const c_char,
        answer_length: *mut usize,
    ) -> c_int;
    pub fn kalstream_stream_learn(stream: Stream) -> c_int;
    pub fn kalstream_stream_remarks(stream: Stream, text: *mut *mut c_char) -> c_int;
    pub fn kalstream_stream_schema(stream: Stream, json: *mut *mut c_char) -> c_int;
    pub fn kalstream_stream_status(stream: Stream, json: *mut *mut c_char) -> c_int;
    pub fn kalstream_stream_state_of(
        stream: Stream,
        key: *const c_char,
        key_length: usize,
        bytes: *mut *mut c_uchar,
        size: *mut usize,
    ) -> c_int;
    pub fn kalstream_stream_put_state(
        stream: Stream,
        key: *const c_char,
        key_length: usize,
        bytes: *const c_uchar,
        size: usize,
    ) -> c_int;
    pub fn kalstream_stream_forget(stream: Stream, key: *const c_char, key_length: usize) -> c_int;
    pub fn kalstream_stream_checkpoint(stream: Stream, bytes: *mut *mut c_uchar, size: *mut usize) -> c_int;
    pub fn kalstream_stream_resume(stream: Stream, bytes: *const c_uchar, size: usize) -> c_int;
}
