//! Predict a stream one sample ahead, learning from every sample: examples/live_stream of kalstream, in Rust.
use kalstream::Learner;

fn signal_at(t: i32) -> f64 {
    let period = if t < 2000 { 25.0 } else { 16.0 };
    0.6 * (2.0 * 3.14159265358979 * f64::from(t) / period).sin()
}

fn main() -> Result<(), kalstream::Error> {
    let mut learner = Learner::new("auto", 1, 1).build()?; // nothing to tune
    let (mut squared_error, mut squared_naive) = (0.0, 0.0);
    for t in 0..4000 {
        let x = signal_at(t);
        let d = signal_at(t + 1);
        let d_hat = learner.predict(&[x])?[0]; // before the target is known …
        learner.learn(&[x], &[d])?; // … and after
        squared_error += (d - d_hat) * (d - d_hat);
        squared_naive += (d - x) * (d - x);
        if t % 500 == 499 {
            let (error, naive) = ((squared_error / 500.0_f64).sqrt(), (squared_naive / 500.0_f64).sqrt());
            println!("after {:4} samples: error {error:.3}, predicting no change {naive:.3}", t + 1);
            (squared_error, squared_naive) = (0.0, 0.0);
        }
    }
    Ok(())
}
