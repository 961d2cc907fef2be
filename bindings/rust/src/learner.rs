use std::ffi::{CStr, CString};
use std::fmt;
use std::os::raw::c_char;
use std::ptr;

use crate::error::{check, Error};
use crate::{owned, sys};

/// What a step did to the weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// The weights were updated.
    Applied,
    /// The rule chose not to learn from this error.
    Gated,
    /// No target: the state moved on, the weights stayed.
    Missing,
    /// The update would have done harm: the weights stayed.
    Rejected,
}

/// What one step did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Report {
    pub status: Status,
    /// How many networks took the step …
    pub experts: u64,
    /// … how many of them updated …
    pub applied: u64,
    /// … and how many updates were rejected.
    pub rejected: u64,
    /// Of all covariances together; 0 without one.
    pub covariance_trace: f64,
    raw_status: i32,
}

impl Report {
    /// The number of the status in kalstream.h.
    pub fn raw_status(&self) -> i32 {
        self.raw_status
    }
}

/// Predictions or forecasts with their bounds; NaN where there is no telling yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounded {
    pub values: Vec<f64>,
    pub low: Vec<f64>,
    pub high: Vec<f64>,
}

/// How to make a [`Learner`].
#[derive(Debug, Clone)]
pub struct Builder {
    name: String,
    inputs: usize,
    outputs: usize,
    settings: Vec<(String, String)>,
}

impl Builder {
    /// Any setting of the learner, by name: [`crate::learners`] lists them.
    pub fn set(mut self, key: &str, value: impl fmt::Display) -> Self {
        self.settings.push((key.to_string(), value.to_string()));
        self
    }

    /// Of the random start; 1 by itself.
    pub fn seed(self, seed: u64) -> Self {
        self.set("seed", seed)
    }

    /// Bounds around predictions that hold this part of the targets, e.g. 0.9.
    pub fn interval(self, coverage: f64) -> Self {
        self.set("interval", coverage)
    }

    /// How strange targets are can be asked.
    pub fn surprise(self) -> Self {
        self.set("surprise", true)
    }

    /// Forecasts are learnt for each of so many samples ahead.
    pub fn horizon(self, samples: usize) -> Self {
        self.set("horizon", samples)
    }

    pub fn build(self) -> Result<Learner, Error> {
        let name = c_string(&self.name)?;
        with_settings(&self.settings, |settings| {
            let mut made = ptr::null_mut();
            // SAFETY: all pointers are valid during the call.
            check(unsafe {
                sys::kalstream_learner_new(name.as_ptr(), self.inputs, self.outputs, settings, &mut made)
            })?;
            Ok(Learner { handle: made, inputs: self.inputs, outputs: self.outputs })
        })
    }
}

/// An online regressor: for each sample `predict`, then `learn`.
pub struct Learner {
    handle: *mut sys::kalstream_learner,
    inputs: usize,
    outputs: usize,
}

// SAFETY: a handle may be used by any thread, by one at a time; `&mut self` sees to that.
unsafe impl Send for Learner {}

impl Drop for Learner {
    fn drop(&mut self) {
        // SAFETY: it is ours, and nobody uses it any more.
        unsafe { sys::kalstream_learner_free(self.handle) }
    }
}

impl fmt::Debug for Learner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Learner({} inputs, {} outputs)", self.inputs, self.outputs)
    }
}

impl Learner {
    /// A learner by name ("auto", "alg2", "ekf", "rls", …) for so many inputs and outputs.
    #[allow(clippy::new_ret_no_self)]
    pub fn new(name: &str, inputs: usize, outputs: usize) -> Builder {
        Builder { name: name.to_string(), inputs, outputs, settings: Vec::new() }
    }

    /// From what [`Learner::save`] or [`Learner::snapshot`] gave, here or in another language.
    pub fn load(bytes: &[u8]) -> Result<Learner, Error> {
        let mut handle = ptr::null_mut();
        // SAFETY: the pointers are valid during the call; any bytes are permitted.
        check(unsafe { sys::kalstream_learner_load(bytes.as_ptr(), bytes.len(), ptr::null(), &mut handle) })?;
        Learner::of(handle)
    }

    fn of(handle: *mut sys::kalstream_learner) -> Result<Learner, Error> {
        let mut learner = Learner { handle, inputs: 0, outputs: 0 };
        let (inputs, outputs): (*mut usize, *mut usize) = (&mut learner.inputs, &mut learner.outputs);
        // SAFETY: the pointers are valid during the call.
        check(unsafe { sys::kalstream_learner_size(handle, inputs, outputs, ptr::null_mut()) })?;
        Ok(learner)
    }

    pub fn inputs(&self) -> usize {
        self.inputs
    }

    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Samples learnt or advanced to.
    pub fn samples(&mut self) -> u64 {
        let mut samples = 0;
        // SAFETY: the pointers are valid during the call, which cannot fail with them.
        unsafe { sys::kalstream_learner_size(self.handle, ptr::null_mut(), ptr::null_mut(), &mut samples) };
        samples
    }

    /// The prediction for x; has no effect on later calls.
    pub fn predict(&mut self, x: &[f64]) -> Result<Vec<f64>, Error> {
        let mut d_hat = vec![0.0; self.outputs];
        self.predict_into(x, &mut d_hat)?;
        Ok(d_hat)
    }

    /// The same without allocating.
    pub fn predict_into(&mut self, x: &[f64], d_hat: &mut [f64]) -> Result<(), Error> {
        // SAFETY: the slices are valid during the call, which checks their sizes.
        check(unsafe {
            sys::kalstream_learner_predict(self.handle, x.as_ptr(), x.len(), d_hat.as_mut_ptr(), d_hat.len())
        })
    }

    /// The same with bounds, for a learner built with `interval`.
    pub fn interval(&mut self, x: &[f64]) -> Result<Bounded, Error> {
        let none = vec![0.0; self.outputs];
        let mut all = Bounded { values: none.clone(), low: none.clone(), high: none };
        // SAFETY: the slices are valid during the call; the outputs are as many as it expects.
        check(unsafe {
            sys::kalstream_learner_interval(
                self.handle,
                x.as_ptr(),
                x.len(),
                all.values.as_mut_ptr(),
                all.low.as_mut_ptr(),
                all.high.as_mut_ptr(),
                self.outputs,
            )
        })?;
        Ok(all)
    }

    /// The probability of a target at least so far off as d, for a learner built with `surprise`. Ask before `learn`.
    pub fn surprise(&mut self, x: &[f64], d: &[f64]) -> Result<Vec<f64>, Error> {
        let mut p = vec![0.0; d.len()];
        // SAFETY: the slices are valid during the call, which checks their sizes.
        check(unsafe {
            sys::kalstream_learner_surprise(self.handle, x.as_ptr(), x.len(), d.as_ptr(), p.as_mut_ptr(), d.len())
        })?;
        Ok(p)
    }

    /// Moves on to x and learns its target d.
    pub fn learn(&mut self, x: &[f64], d: &[f64]) -> Result<Report, Error> {
        let handle = self.handle;
        // SAFETY: the slices are valid during the call, which checks their sizes.
        reported(|report| unsafe {
            sys::kalstream_learner_learn(handle, x.as_ptr(), x.len(), d.as_ptr(), d.len(), report)
        })
    }

    /// Moves on to x without a target.
    pub fn advance(&mut self, x: &[f64]) -> Result<Report, Error> {
        let handle = self.handle;
        // SAFETY: the slice is valid during the call, which checks its size.
        reported(|report| unsafe { sys::kalstream_learner_advance(handle, x.as_ptr(), x.len(), report) })
    }

    /// Moves on to x, whose target was d, without learning from it.
    pub fn observe(&mut self, x: &[f64], d: &[f64]) -> Result<Report, Error> {
        let handle = self.handle;
        // SAFETY: the slices are valid during the call, which checks their sizes.
        reported(|report| unsafe {
            sys::kalstream_learner_observe(handle, x.as_ptr(), x.len(), d.as_ptr(), d.len(), report)
        })
    }

    /// The next `horizon` samples, whose inputs are the rows of `future`, one row after the other.
    pub fn forecast(&mut self, horizon: usize, future: &[f64]) -> Result<Vec<f64>, Error> {
        Ok(self.look_ahead(horizon, future, false)?.values)
    }

    /// The same with bounds, for a learner built with `horizon` and `interval`.
    pub fn forecast_bounds(&mut self, horizon: usize, future: &[f64]) -> Result<Bounded, Error> {
        self.look_ahead(horizon, future, true)
    }

    fn look_ahead(&mut self, horizon: usize, future: &[f64], bounded: bool) -> Result<Bounded, Error> {
        let size = horizon.checked_mul(self.outputs).filter(|n| *n <= isize::MAX as usize / 8);
        let size = size.ok_or_else(|| Error::invalid("horizon: this is too far"))?;
        let none = vec![0.0; if bounded { size } else { 0 }];
        let mut all = Bounded { values: vec![0.0; size], low: none.clone(), high: none };
        let bound = |of: &mut Vec<f64>| if bounded { of.as_mut_ptr() } else { ptr::null_mut() };
        let (low, high) = (bound(&mut all.low), bound(&mut all.high));
        // SAFETY: the slices are valid during the call, which checks their sizes.
        check(unsafe {
            sys::kalstream_learner_forecast(
                self.handle,
                horizon,
                future.as_ptr(),
                future.len(),
                all.values.as_mut_ptr(),
                low,
                high,
                size,
            )
        })?;
        Ok(all)
    }

    /// The stream repeats itself after so many samples, the shortest period first.
    pub fn expect_periods(&mut self, samples: &[f64]) -> Result<(), Error> {
        // SAFETY: the slice is valid during the call.
        check(unsafe { sys::kalstream_learner_expect_periods(self.handle, samples.as_ptr(), samples.len()) })
    }

    /// The experts it mixes and how much each counts now; none if it mixes none.
    pub fn experts(&mut self) -> Result<Vec<(String, f64)>, Error> {
        let mut count = 0;
        // SAFETY: the pointers are valid during the calls; names live as long as the learner.
        unsafe {
            check(sys::kalstream_learner_experts(self.handle, &mut count))?;
            let mut weights = vec![0.0; count];
            check(sys::kalstream_learner_weights(self.handle, weights.as_mut_ptr(), count))?;
            let mut experts = Vec::with_capacity(count);
            for (k, weight) in weights.into_iter().enumerate() {
                let mut name = ptr::null();
                check(sys::kalstream_learner_expert_name(self.handle, k, &mut name))?;
                experts.push((CStr::from_ptr(name).to_string_lossy().into_owned(), weight));
            }
            Ok(experts)
        }
    }

    /// Back to the state after it was built.
    pub fn reset(&mut self) -> Result<(), Error> {
        // SAFETY: the handle is ours.
        check(unsafe { sys::kalstream_learner_reset(self.handle) })
    }

    /// An independent copy, with all it has learnt.
    pub fn try_clone(&mut self) -> Result<Learner, Error> {
        let mut copy = ptr::null_mut();
        // SAFETY: the pointers are valid during the call.
        check(unsafe { sys::kalstream_learner_clone(self.handle, &mut copy) })?;
        Ok(Learner { handle: copy, inputs: self.inputs, outputs: self.outputs })
    }

    /// The learner alone, for the program, C++ and Python as well.
    pub fn snapshot(&mut self) -> Result<Vec<u8>, Error> {
        // SAFETY: the pointers are valid during the call.
        owned::bytes(|bytes, size| unsafe { sys::kalstream_learner_snapshot(self.handle, bytes, size) })
    }

    /// All that it knows, intervals, surprise and forecasts included: it goes on to the same bits.
    pub fn save(&mut self) -> Result<Vec<u8>, Error> {
        // SAFETY: the pointers are valid during the call.
        owned::bytes(|bytes, size| unsafe { sys::kalstream_learner_save(self.handle, bytes, size) })
    }
}

fn reported(call: impl FnOnce(*mut sys::kalstream_report) -> i32) -> Result<Report, Error> {
    let mut report = sys::kalstream_report {
        size: std::mem::size_of::<sys::kalstream_report>(),
        status: 0,
        reserved: 0,
        experts: 0,
        applied: 0,
        rejected: 0,
        covariance_trace: 0.0,
    };
    check(call(&mut report))?;
    Ok(Report {
        status: match report.status {
            0 => Status::Applied,
            1 => Status::Gated,
            2 => Status::Missing,
            _ => Status::Rejected,
        },
        experts: report.experts,
        applied: report.applied,
        rejected: report.rejected,
        covariance_trace: report.covariance_trace,
        raw_status: report.status,
    })
}

fn c_string(text: &str) -> Result<CString, Error> {
    CString::new(text).map_err(|_| Error::invalid("a zero byte is in a name or a value"))
}

/// Keys and values in turn, and then a null pointer.
fn with_settings<T>(
    settings: &[(String, String)],
    call: impl FnOnce(*const *const c_char) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut texts = Vec::with_capacity(2 * settings.len());
    for (key, value) in settings {
        texts.push(c_string(key)?);
        texts.push(c_string(value)?);
    }
    let mut pointers: Vec<*const c_char> = texts.iter().map(|text| text.as_ptr()).collect();
    pointers.push(ptr::null());
    call(pointers.as_ptr())
}
