// Bad input ends in one line that says what, where and what to do.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { experiment, file, k6 } from './k6.mjs';

const TARGETS = '{"platform":"http://127.0.0.1:1","virtual":"http://127.0.0.1:1"}';
const good = { EXPERIMENT: file(experiment()), TARGETS };
const OPEN = { EXPERIMENT: file(experiment({ load: { model: 'open', users: 5, rate: 1 } })) };

const BAD = [
  ['no experiment', { EXPERIMENT: '' }, /EXPERIMENT: missing/],
  ['unknown experiment', { EXPERIMENT: 'nonsense' }, /EXPERIMENT: cannot read .*nonsense\.json/],
  ['experiment that is no JSON', { EXPERIMENT: file('{"name":') }, /\.json: not JSON/],
  [
    'experiment as a user writes it',
    { EXPERIMENT: new URL('../experiments/cpu.json', import.meta.url).pathname },
    /cpu\.json is not a normalised experiment: vtlab lab k6-plan .*cpu\.json > plan\.json/,
  ],
  ['no targets', { TARGETS: '' }, /TARGETS: missing/],
  ['targets that are no JSON', { TARGETS: 'platform=http://x' }, /TARGETS: not JSON/],
  ['target that is no URL', { TARGETS: '{"platform":"localhost:8080"}' }, /TARGETS: .*localhost:8080.* is not a URL/],
  ['unknown variant', { ORDER: 'platform,reactive' }, /ORDER: no variant \\"reactive\\" in TARGETS/],
  ['missing variant', { ORDER: 'platform,,virtual' }, /ORDER: an empty name/],
  ['nothing to do', { ORDER: '', WARMUP_CYCLES: '0' }, /ORDER: no trials/],
  ['users override', { USERS: '-3' }, /USERS: \\"-3\\" is not a whole number/],
  ['users that are no number', { USERS: 'many' }, /USERS: \\"many\\" is not a whole number/],
  ['rate that is no number', { ...OPEN, RATE: '0' }, /RATE: \\"0\\" is not a positive number/],
  ['rate of no variant', { RATE: '5', TYPICAL: '' }, /RATE: no variant has typical load: name some in TYPICAL/],
  ['typical load without a rate', { TYPICAL: 'virtual' }, /TYPICAL: its rate is not known: set RATE/],
  ['typical load of an unknown variant', { TYPICAL: 'green', RATE: '5' }, /TYPICAL: no variant \\"green\\" in TARGETS/],
  [
    'typical load beside an open one',
    { ...OPEN, TYPICAL: 'virtual' },
    /TYPICAL: the load of .* is open: it has no other/,
  ],
  ['typical users', { RATE: '5', TYPICAL_USERS: '0' }, /TYPICAL_USERS: \\"0\\" is not a whole number/],
  ['typical window', { RATE: '5', TYPICAL_MEASURE: '5' }, /TYPICAL_MEASURE: \\"5\\" is not a positive duration/],
  ['probes of an unknown variant', { PROBES: '{"green":"http://x"}' }, /PROBES: no variant \\"green\\" in TARGETS/],
  ['probes that go nowhere', { PROBES: '{"virtual":"/health"}' }, /PROBES: .*health.* is not a URL for \\"virtual\\"/],
  ['measure override', { MEASURE: 'long' }, /MEASURE: \\"long\\" is not a positive duration/],
  ['wait for answers', { WAIT_FOR_ANSWERS: 'no' }, /WAIT_FOR_ANSWERS: \\"no\\" is not true or false/],
  ['open load that gives up', { ...OPEN, WAIT_FOR_ANSWERS: 'false' }, /WAIT_FOR_ANSWERS: the load .* is open/],
  ['position', { POSITION: '0' }, /POSITION: \\"0\\" is not a whole number/],
  ['single', { SINGLE: 'yes' }, /SINGLE: \\"yes\\" is not a duration/],
  ['single-user phases', { SINGLE_PHASES: '0' }, /SINGLE_PHASES: \\"0\\" is not a whole number/],
  ['own cycles', { OWN_CYCLES: '-1' }, /OWN_CYCLES: \\"-1\\" is not a whole number/],
  ['settle of a closed load', { SETTLE: '1s' }, /SETTLE: the load of .* is closed: leave it out/],
  ['settle', { ...OPEN, SETTLE: '5' }, /SETTLE: \\"5\\" is not a duration/],
  ['rounds of an open load', { ...OPEN, ROUNDS: '{"platform":"1s"}' }, /ROUNDS: the load of .* is open: leave it out/],
  ['rounds of an unknown variant', { ROUNDS: '{"green":"1s"}' }, /ROUNDS: no variant \\"green\\" in the experiment/],
  ['rounds without a unit', { ROUNDS: '{"platform":1}' }, /ROUNDS: \\"1\\" is not a positive duration/],
  ['light load of an unknown variant', { LIGHT: '{"green":[1]}' }, /LIGHT: no variant \\"green\\" in TARGETS/],
  ['light load without rates', { LIGHT: '{"virtual":[]}' }, /LIGHT: \[\] are no rates for \\"virtual\\"/],
  ['light load below none', { LIGHT: '{"virtual":[3,-1]}' }, /LIGHT: \[3,-1\] are no rates for \\"virtual\\"/],
  ['light load without time', { LIGHT: '{"virtual":[3]}', LIGHT_SETTLE: '0s' }, /LIGHT_SETTLE: .* is not a positive/],
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

test('the plan of every experiment is read by its name', async () => {
  const folder = new URL('../experiments/', import.meta.url);
  const files = readdirSync(folder).filter((name) => name.endsWith('.json'));
  assert.ok(files.length >= 6);
  for (const name of files) {
    // Stops at the last check, after the experiment has been read.
    const env = { EXPERIMENT: name.replace('.json', ''), ORDER: '', WARMUP_CYCLES: '0', SINGLE: '0s' };
    const { stderr } = await k6({ ...env, TARGETS });
    assert.match(stderr, /ORDER: no trials/, name);
  }
});
