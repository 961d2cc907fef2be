'use strict';

const addon = require(process.env.KALSTREAM_NODE_ADDON || './kalstream.node');

const numbers = (values) => (values instanceof Float64Array ? values : Float64Array.from(values ?? []));

const statuses = ['applied', 'gated', 'missing', 'rejected input', 'rejected non-finite', 'rejected covariance'];

const report = ([status, experts, applied, rejected, covarianceTrace]) => ({
  status: statuses[status], experts, applied, rejected, covarianceTrace,
});

const bounded = (all) => {
  const n = all.length / 3;
  return { values: all.slice(0, n), low: all.slice(n, 2 * n), high: all.slice(2 * n) };
};

/** An online regressor: for each sample `predict`, then `learn`. */
class Learner {
  #handle;

  /** By name ("auto", "alg2", "ekf", "rls", …), for so many inputs and outputs; settings as in index.d.ts. */
  constructor(name = 'auto', { inputs = 1, outputs = 1, ...settings } = {}, handle = undefined) {
    this.#handle = handle ??
      addon.learnerNew(name, inputs, outputs, Object.entries(settings).flatMap(([key, value]) => [key, String(value)]));
    [this.inputs, this.outputs] = addon.learnerSize(this.#handle);
  }

  /** From what `save` or `snapshot` gave, here or in another language. */
  static load(bytes) { return new Learner(undefined, undefined, addon.learnerLoad(Buffer.from(bytes))); }

  get samples() { return addon.learnerSize(this.#handle)[2]; }
  predict(x) { return addon.learnerPredict(this.#handle, numbers(x)); }
  interval(x) { return bounded(addon.learnerInterval(this.#handle, numbers(x))); }
  surprise(x, d) { return addon.learnerSurprise(this.#handle, numbers(x), numbers(d)); }
  learn(x, d) { return report(addon.learnerLearn(this.#handle, numbers(x), numbers(d))); }
  advance(x) { return report(addon.learnerAdvance(this.#handle, numbers(x))); }
  observe(x, d) { return report(addon.learnerObserve(this.#handle, numbers(x), numbers(d))); }
  forecast(horizon, future = []) { return addon.learnerForecast(this.#handle, horizon, numbers(future), false); }
  forecastBounds(horizon, future = []) {
    return bounded(addon.learnerForecast(this.#handle, horizon, numbers(future), true));
  }
  expectPeriods(...samples) { addon.learnerExpectPeriods(this.#handle, numbers(samples)); }
  experts() { return addon.learnerExperts(this.#handle).map(([name, weight]) => ({ name, weight })); }
  reset() { addon.learnerReset(this.#handle); }
  clone() { return new Learner(undefined, undefined, addon.learnerClone(this.#handle)); }
  snapshot() { return addon.learnerSnapshot(this.#handle); }
  save() { return addon.learnerSave(this.#handle); }
}

const formats = { 'as records': 0, json: 1, csv: 2 };

/** Records in, answers out: `kalstream stream` without files and pipes. */
class Stream {
  #handle;

  /** Of these settings, the options that `kalstream stream` has; answers: 'as records', 'json' or 'csv'. */
  constructor(settings = {}, { answers = 'as records', checkpoint } = {}) {
    if (!(answers in formats)) throw new TypeError(`answers: '${answers}' is none of ${Object.keys(formats).join(', ')}`);
    this.#handle = addon.streamNew(JSON.stringify(settings), formats[answers]);
    if (checkpoint !== undefined) addon.streamResume(this.#handle, Buffer.from(checkpoint));
  }

  /** A line of JSON or CSV, or an object. The answer as text; null to a line that says nothing, such as a header. */
  take(record) {
    return addon.streamTake(this.#handle, typeof record === 'string' ? record : JSON.stringify(record));
  }

  learn() { addon.streamLearn(this.#handle); }
  remarks() { return addon.streamRemarks(this.#handle).split('\n').filter((line) => line !== ''); }
  schema() { return JSON.parse(addon.streamSchema(this.#handle)); }
  status() { return JSON.parse(addon.streamStatus(this.#handle)); }
  stateOf(key = '') { return addon.streamStateOf(this.#handle, key); }
  putState(key, state) { addon.streamPutState(this.#handle, key, Buffer.from(state)); }
  forget(key = '') { return addon.streamForget(this.#handle, key); }
  checkpoint() { return addon.streamCheckpoint(this.#handle); }
}

module.exports = {
  Learner,
  Stream,
  version: addon.version(),
  learners: () => JSON.parse(addon.learners()),
  describe: (bytes) => JSON.parse(addon.describe(Buffer.from(bytes))),
};
