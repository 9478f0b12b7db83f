// Bad input ends in one line that says what, where and what to do.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { experiment, file, k6 } from './k6.mjs';

const TARGETS = '{"platform":"http://127.0.0.1:1","virtual":"http://127.0.0.1:1"}';
const good = { EXPERIMENT: file(experiment()), TARGETS };
const load = (load) => ({ EXPERIMENT: file(experiment({ load })) });

const BAD = [
  ['no experiment', { EXPERIMENT: '' }, /EXPERIMENT: missing/],
  ['unknown experiment', { EXPERIMENT: 'nonsense' }, /EXPERIMENT: cannot read .*nonsense\.json/],
  ['experiment that is no JSON', { EXPERIMENT: file('{"name":') }, /\.json: not JSON/],
  ['unknown key', { EXPERIMENT: file({ ...experiment(), laod: 1 }) }, /unknown key \\"laod\\": known are name/],
  ['unknown key below', { EXPERIMENT: file(experiment({ windows: { mesure: '1s' } })) }, /windows: unknown key/],
  ['bad duration', { EXPERIMENT: file(experiment({ windows: { measure: '5 sec' } })) }, /windows\.measure: .*5 sec/],
  ['bad window', { EXPERIMENT: file(experiment({ windows: { measure_of: { a: 'x' } } })) }, /measure_of\.a: .*x/],
  ['missing part', { EXPERIMENT: file({ ...experiment(), request: undefined }) }, /request: missing/],
  ['unknown load model', load({ model: 'ramped', users: 1 }), /load\.model: there is no load model \\"ramped\\"/],
  ['no users', load({ model: 'closed', users: 0 }), /load\.users: 0 is not a whole number/],
  ['half a user', load({ model: 'closed', users: 1.5 }), /load\.users: 1\.5 is not a whole number/],
  ['no rate', load({ model: 'open', users: 5 }), /load\.rate: nothing is not a positive number/],
  ['no targets', { TARGETS: '' }, /TARGETS: missing/],
  ['targets that are no JSON', { TARGETS: 'platform=http://x' }, /TARGETS: not JSON/],
  [
    'target that is no URL',
    { TARGETS: '{"platform":"localhost:8080"}' },
    /TARGETS: .*localhost:8080.* is not a base URL/,
  ],
  ['unknown variant', { ORDER: 'platform,reactive' }, /ORDER: no variant \\"reactive\\" in TARGETS/],
  ['missing variant', { ORDER: 'platform,,virtual' }, /ORDER: an empty name/],
  ['nothing to do', { ORDER: '', WARMUP_CYCLES: '0' }, /ORDER: no trials/],
  ['users override', { USERS: '-3' }, /USERS: -3 is not a whole number/],
  ['users that are no number', { USERS: 'many' }, /USERS: \\"many\\" is not a whole number/],
  ['rate of a closed load', { RATE: '5' }, /RATE: the load of .* is closed: set USERS/],
  ['measure override', { MEASURE: 'long' }, /MEASURE: \\"long\\" is not a positive duration/],
  ['drain', { DRAIN: 'no' }, /DRAIN: \\"no\\" is not true or false/],
  ['open load that gives up', { ...load({ model: 'open', users: 5, rate: 1 }), DRAIN: 'false' }, /DRAIN: the load/],
  ['position', { POSITION: '0' }, /POSITION: 0 is not a whole number/],
  ['single', { SINGLE: 'yes' }, /SINGLE: \\"yes\\" is not a duration/],
];

for (const [what, env, message] of BAD) {
  test(`bad input: ${what}`, async () => {
    const { code, stdout, stderr } = await k6({ ...good, ...env });
    assert.notEqual(code, 0);
    assert.match(stderr, message);
    assert.equal(stderr.trim().split('\n').length, 1, stderr);
    assert.doesNotMatch(stderr, /block\.ts:\d|\\tat /);
    assert.equal(stdout, '');
  });
}

test('the committed experiments are read, each under its own name', async () => {
  const folder = new URL('../experiments/', import.meta.url);
  const files = readdirSync(folder).filter((name) => name.endsWith('.json') && name !== 'experiment.schema.json');
  assert.ok(files.length >= 6);
  for (const name of files) {
    assert.equal(`${JSON.parse(readFileSync(new URL(name, folder), 'utf8')).name}.json`, name);
    // Stops at the last check, after the experiment has been read.
    const { stderr } = await k6({ EXPERIMENT: name.replace('.json', ''), TARGETS, ORDER: '', WARMUP_CYCLES: '0' });
    assert.match(stderr, /ORDER: no trials/, name);
  }
});
