use kalstream::{Answers, Code, Learner, Stream};

#[test]
fn errors_have_a_code_and_say_what_is_wrong() {
    let unknown = Learner::new("autoo", 1, 1).build().unwrap_err();
    assert_eq!(unknown.code, Code::Invalid);
    assert!(unknown.to_string().contains("auto"), "{unknown}");
    assert!(Learner::new("a\0b", 1, 1).build().is_err());
    assert_eq!(Learner::load(b"no snapshot").unwrap_err().code, Code::Snapshot);
    assert_eq!(Stream::new("{\"lerner\":1}", Answers::Json).unwrap_err().code, Code::Invalid);

    let mut learner = Learner::new("rls", 2, 1).build().unwrap();
    assert_eq!(learner.predict(&[1.0]).unwrap_err().code, Code::Invalid);
    assert_eq!(learner.learn(&[1.0, f64::NAN], &[1.0]).unwrap_err().code, Code::Unusable);
    assert_eq!(learner.interval(&[1.0, 2.0]).unwrap_err().code, Code::Invalid);
    assert_eq!(learner.forecast(usize::MAX, &[]).unwrap_err().code, Code::Invalid);
    assert_eq!(learner.samples(), 0);
}

#[test]
fn a_learner_moves_to_another_thread() {
    let mut learner = Learner::new("rls", 1, 1).build().unwrap();
    learner.learn(&[1.0], &[2.0]).unwrap();
    let samples = std::thread::spawn(move || learner.samples()).join().unwrap();
    assert_eq!(samples, 1);
}

#[test]
fn what_there_is_can_be_asked() {
    assert!(kalstream::version().contains('.'));
    assert!(kalstream::learners().unwrap().contains("\"auto\""));
    let bytes = Learner::new("rls", 2, 1).build().unwrap().snapshot().unwrap();
    assert!(kalstream::describe(&bytes).unwrap().contains("\"rls\""));
    let mut stream = Stream::new("{}", Answers::Json).unwrap();
    assert_eq!(stream.state_of("").unwrap(), None);
    assert!(stream.take("not a record, but a header").unwrap().is_none());
    assert!(stream.status().unwrap().contains("\"records\":0"));
}
