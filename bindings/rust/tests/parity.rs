//! Every call of the file KALSTREAM_VECTORS, which the C++ library has written, gives the same bits here.
//! tests/capi/vectors.cc has the form of the file.
use kalstream::{Answers, Learner, Report, Stream};

fn number(word: &str) -> f64 {
    if word == "nan" {
        f64::NAN
    } else {
        f64::from_bits(u64::from_str_radix(word, 16).unwrap())
    }
}

fn same(now: &[f64], expected: &[f64]) -> bool {
    let equal = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
    now.len() == expected.len() && now.iter().zip(expected).all(equal)
}

fn checksum(bytes: &[u8]) -> String {
    let sum = bytes.iter().fold(0xcbf29ce484222325, |sum: u64, b| (sum ^ *b as u64).wrapping_mul(0x100000001b3));
    format!("{} {:016x}", bytes.len(), sum)
}

fn make(rest: &str) -> Learner {
    let words: Vec<&str> = rest.split(' ').collect();
    let mut builder = Learner::new(words[0], words[1].parse().unwrap(), words[2].parse().unwrap());
    for setting in &words[3..] {
        let (key, value) = setting.split_once('=').unwrap();
        builder = builder.set(key, value);
    }
    builder.build().unwrap()
}

fn check_report(report: Report, expected: &[&str], line: usize) {
    let counts = [
        report.raw_status().to_string(),
        report.experts.to_string(),
        report.applied.to_string(),
        report.rejected.to_string(),
    ];
    assert!(same(&[report.covariance_trace], &[number(expected[0])]), "line {line}");
    assert_eq!(expected[1..], counts, "line {line}");
}

fn ask(learner: &mut Learner, call: &str, rest: &str, line: usize) {
    let (before, after) = rest.split_once('=').unwrap();
    let mut words = before.split_whitespace();
    if call == "snapshot" {
        assert_eq!(checksum(&learner.snapshot().unwrap()), after.trim(), "line {line}");
        return;
    }
    let horizon = match call {
        "forecast" | "bounds" => words.next().unwrap().parse().unwrap(),
        _ => 0,
    };
    let numbers: Vec<f64> = words.map(number).collect();
    let expected: Vec<&str> = after.split_whitespace().collect();
    let (x, d) = numbers.split_at(learner.inputs().min(numbers.len()));
    let now = match call {
        "learn" => return check_report(learner.learn(x, d).unwrap(), &expected, line),
        "advance" => return check_report(learner.advance(x).unwrap(), &expected, line),
        "predict" => learner.predict(x).unwrap(),
        "interval" => {
            let all = learner.interval(x).unwrap();
            [all.low, all.high].concat()
        }
        "surprise" => learner.surprise(x, d).unwrap(),
        "forecast" => learner.forecast(horizon, &numbers).unwrap(),
        "bounds" => {
            let all = learner.forecast_bounds(horizon, &numbers).unwrap();
            [all.values, all.low, all.high].concat()
        }
        "weights" => learner.experts().unwrap().into_iter().map(|(_, weight)| weight).collect(),
        _ => panic!("line {line}: {call}?"),
    };
    let expected: Vec<f64> = expected.into_iter().map(number).collect();
    assert!(same(&now, &expected), "line {line}: {now:?}, not {expected:?}");
}

#[test]
fn every_call_gives_the_bits_of_cpp() {
    let Ok(path) = std::env::var("KALSTREAM_VECTORS") else {
        eprintln!("skipped: KALSTREAM_VECTORS names no file (make test-bindings does)");
        return;
    };
    let text = std::fs::read_to_string(path).unwrap();
    let mut learner = None;
    let mut stream = None;
    let mut settings = ("", Answers::Json);
    let mut answer = String::new();
    for (k, whole) in text.lines().enumerate() {
        let line = k + 1;
        let (call, rest) = whole.split_once(' ').unwrap_or((whole, ""));
        match call {
            "learner" => learner = Some(make(rest)),
            "reload" => {
                let bytes = learner.as_mut().unwrap().save().unwrap();
                learner = Some(Learner::load(&bytes).unwrap().try_clone().unwrap());
            }
            "stream" => {
                let answers = [Answers::AsRecords, Answers::Json, Answers::Csv];
                let (how, json) = rest.split_once(' ').unwrap();
                settings = (json, answers[how.parse::<usize>().unwrap()]);
                stream = Some(Stream::new(settings.0, settings.1).unwrap());
            }
            "line" => {
                let said = stream.as_mut().unwrap().take(rest).unwrap();
                answer = said.unwrap_or("none".to_string()).replace('\n', "\u{b}");
            }
            "answer" => assert_eq!(answer, rest, "line {line}"),
            "resume" => {
                let bytes = stream.as_mut().unwrap().checkpoint().unwrap();
                stream = Some(Stream::resume(settings.0, settings.1, &bytes).unwrap());
            }
            "forget" => assert!(stream.as_mut().unwrap().forget(rest).unwrap()),
            "state" => {
                let (key, sum) = rest.split_once("= ").unwrap();
                let state = stream.as_mut().unwrap().state_of(key.trim_end()).unwrap().unwrap();
                assert_eq!(checksum(&state), sum, "line {line}");
            }
            _ => ask(learner.as_mut().unwrap(), call, rest, line),
        }
    }
}
