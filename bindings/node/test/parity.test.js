'use strict';
// Every call of the file KALSTREAM_VECTORS, which the C++ library has written, gives the same bits here.
// tests/capi/vectors.cc has the form of the file.
const assert = require('node:assert');
const fs = require('node:fs');
const test = require('node:test');
const { Learner, Stream } = require('..');

const floats = new Float64Array(1);
const bits = new BigUint64Array(floats.buffer);

function numberOf(word) {
  if (word === 'nan') return NaN;
  bits[0] = BigInt('0x' + word);
  return floats[0];
}

function textOf(v) {
  if (Number.isNaN(v)) return 'nan';
  floats[0] = v;
  return bits[0].toString(16).padStart(16, '0');
}

function checksum(bytes) {
  let sum = 0xcbf29ce484222325n;
  for (const b of bytes) sum = ((sum ^ BigInt(b)) * 0x100000001b3n) & 0xffffffffffffffffn;
  return `${bytes.length} ${sum.toString(16).padStart(16, '0')}`;
}

const statuses = ['applied', 'gated', 'missing'];

function ask(learner, call, rest) {
  const [before, after] = rest.split('=').map((part) => part.trim());
  const words = before === '' ? [] : before.split(' ');
  const horizon = call === 'forecast' || call === 'bounds' ? Number(words.shift()) : 0;
  const all = words.map(numberOf);
  const x = all.slice(0, learner.inputs);
  const d = all.slice(learner.inputs);
  const concat = ({ values, low, high }, withValues) => [...(withValues ? values : []), ...low, ...high];
  const calls = {
    predict: () => learner.predict(x),
    interval: () => concat(learner.interval(x), false),
    surprise: () => learner.surprise(x, d),
    forecast: () => learner.forecast(horizon, all),
    bounds: () => concat(learner.forecastBounds(horizon, all), true),
    weights: () => learner.experts().map(({ weight }) => weight),
  };
  if (call === 'snapshot') return assert.strictEqual(checksum(learner.snapshot()), after);
  if (call === 'learn' || call === 'advance') {
    const r = call === 'learn' ? learner.learn(x, d) : learner.advance(x);
    const said = [textOf(r.covarianceTrace), statuses.indexOf(r.status), r.experts, r.applied, r.rejected].join(' ');
    return assert.strictEqual(said, after);
  }
  return assert.strictEqual(Array.from(calls[call](), textOf).join(' '), after);
}

const path = process.env.KALSTREAM_VECTORS;
test('every call gives the bits of C++', { skip: path ? false : 'KALSTREAM_VECTORS names no file' }, () => {
  let learner;
  let stream;
  let settings;
  let options;
  let answer;
  const handlers = {
    learner: (rest) => {
      const [name, inputs, outputs, ...pairs] = rest.split(' ');
      learner = new Learner(name, {
        inputs: Number(inputs), outputs: Number(outputs), ...Object.fromEntries(pairs.map((pair) => pair.split('='))),
      });
    },
    reload: () => { learner = Learner.load(learner.save()).clone(); },
    stream: (rest) => {
      settings = JSON.parse(rest.slice(2));
      options = { answers: ['as records', 'json', 'csv'][Number(rest[0])] };
      stream = new Stream(settings, options);
    },
    line: (rest) => { answer = (stream.take(rest) ?? 'none').replaceAll('\n', '\v'); },
    answer: (rest) => assert.strictEqual(answer, rest),
    resume: () => { stream = new Stream(settings, { ...options, checkpoint: stream.checkpoint() }); },
    forget: (rest) => assert.ok(stream.forget(rest)),
    state: (rest) => {
      const [key, sum] = rest.split('= ');
      assert.strictEqual(checksum(stream.stateOf(key.trimEnd())), sum);
    },
  };
  const lines = fs.readFileSync(path, 'utf8').trimEnd().split('\n');
  assert.ok(lines.length > 1000);
  for (const line of lines) {
    const call = line.split(' ', 1)[0];
    const rest = line.slice(call.length + 1);
    if (call in handlers) handlers[call](rest);
    else ask(learner, call, rest);
  }
});
