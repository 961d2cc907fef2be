'use strict';
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const test = require('node:test');
const kalstream = require('..');
const { Learner, Stream } = kalstream;

test('errors have a code and say what is wrong', () => {
  assert.throws(() => new Learner('autoo'), { code: 'INVALID', message: /auto/ });
  assert.throws(() => new Learner('auto', { inputs: -1 }), { code: /INVALID|MEMORY/ });
  assert.throws(() => new Learner('auto', { hiden: 3 }), { code: 'INVALID' });
  assert.throws(() => Learner.load(Buffer.from('no snapshot')), { code: 'SNAPSHOT' });
  assert.throws(() => new Stream({ lerner: 1 }), { code: 'INVALID' });
  assert.throws(() => new Stream({}, { answers: 'xml' }), TypeError);
  const learner = new Learner('rls', { inputs: 2 });
  assert.throws(() => learner.predict([1]), { code: 'INVALID' });
  assert.throws(() => learner.learn([1, NaN], [1]), { code: 'UNUSABLE' });
  assert.throws(() => learner.forecast(1e15), { code: 'INVALID' });
  assert.throws(() => learner.forecast(-1), { code: 'INVALID' });
  assert.throws(() => learner.interval([1, 2]), { code: 'INVALID' });
  assert.throws(() => kalstream.describe(Buffer.alloc(0)), { code: 'SNAPSHOT' });
  assert.strictEqual(learner.samples, 0);
});

test('what there is can be asked', () => {
  assert.match(kalstream.version, /^\d+\.\d+\.\d+$/);
  assert.strictEqual(kalstream.learners()[0].name, 'auto');
  assert.strictEqual(kalstream.describe(new Learner('rls').snapshot()).learner, 'rls');
  const stream = new Stream();
  assert.strictEqual(stream.stateOf(), null);
  assert.strictEqual(stream.forget(), false);
  assert.strictEqual(stream.take('a,b'), null);
  assert.match(stream.take('1,2'), /learnt/);
  assert.strictEqual(stream.status().samples, 1);
  assert.strictEqual(stream.schema().fields[1].role, 'target');
});

test('handles are freed when they are forgotten', () => {
  for (let k = 0; k < 200; ++k) new Learner('rls', { inputs: 3 }).learn([1, 2, 3], [4]);
});

test('the README runs', () => {
  const text = fs.readFileSync(path.join(__dirname, '..', 'README.md'), 'utf8');
  const printed = [];
  const here = { log: (...values) => printed.push(...values) };
  for (const [, code] of text.matchAll(/```js\n(.*?)```/gs))
    new Function('require', 'console', code)(() => kalstream, here);
  assert.deepStrictEqual(printed, Array(6).fill(true));
});
