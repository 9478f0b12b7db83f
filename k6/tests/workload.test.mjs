// Workloads of requests against a small service: what is sent, what counts as an answer.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { block, experiment, file, folder, request } from './k6.mjs';
import { inLongerWindows, sum } from './laws.mjs';
import { service } from './service.mjs';

const SHORT = { WARMUP_CYCLES: '0', ORDER: 'platform,virtual,virtual,platform' };

/** Runs a block of four users until it `hasEnough`. Both variants are the same service, each with a log of its own. */
function measured({ answer, change, env, options }, hasEnough) {
  const run = async (measure) => {
    const servers = { platform: await service(answer), virtual: await service(answer) };
    const content = experiment({ load: { model: 'closed', users: 4 }, windows: { measure }, ...change });
    const result = await block(content, servers, { ...SHORT, ...env }, options);
    for (const server of Object.values(servers)) server.close();
    return result;
  };
  return inLongerWindows([400, 4000, 40_000], run, hasEnough);
}

/** A file for k6 alone. */
function secrets(content) {
  return file({ columns: [], rows: [], values: {}, login: null, ...content });
}

test('requests are mixed by weight with bodies, headers and rows, in the same sequence for every variant', async () => {
  const answer = ({ method }) => ({ status: method === 'POST' ? 201 : 200 });
  const post = { method: 'POST', path: '/visits', body: '{"pet": "{id}", "by": "{name}"}', is_json: true, status: 201 };
  const requests = [
    request({ path: '/owners/{id}', query: { q: '{name}' }, headers: { 'X-Key': '{env.KEY}' } }),
    request({ ...post, weight: 0.5 }),
    request({ method: 'DELETE', path: '/visits/{id}', body: 'id={id}', weight: 0.5 }),
  ];
  const rows = Array.from({ length: 50 }, (_, i) => [`${i}`, `n "${i}"`]);
  const PRIVATE = secrets({ columns: ['id', 'name'], rows, values: { 'env.KEY': 'k-1' } });
  const result = await measured({ answer, change: { requests }, env: { PRIVATE } }, (some) =>
    isEnough(sentInBoth(some)),
  );
  assert.equal(result.code, 0, result.stderr);
  assert.deepEqual(
    result.records.map(({ failed }) => failed),
    [{}, {}, {}, {}],
  );
  const seen = result.servers.platform.log;
  assert.equal(
    sum(
      result.records.filter(({ variant }) => variant === 'platform'),
      (record) => record.started,
    ),
    seen.length,
  );

  const sent = (method) => seen.filter((entry) => entry.method === method);
  const [get, posted, deleted] = [sent('GET'), sent('POST'), sent('DELETE')];
  // More than four standard deviations of a binomial count with the share 1/2.
  assert.ok(Math.abs(get.length - seen.length / 2) < 2 * Math.sqrt(2 * seen.length), `${get.length} of ${seen.length}`);
  for (const { url, headers } of get) {
    const [, id] = url.match(/^\/owners\/(\d+)\?q=n%20%22\1%22$/) ?? [];
    assert.ok(id, url);
    assert.equal(headers['x-key'], 'k-1');
  }
  for (const { body, headers } of posted) {
    const { pet, by } = JSON.parse(body);
    assert.equal(by, `n "${pet}"`);
    assert.equal(headers['content-type'], 'application/json');
  }
  for (const { url, body, headers } of deleted) {
    assert.equal(`/visits/${body.replace('id=', '')}`, url);
    assert.equal(headers['content-type'], 'text/plain');
  }
  const inBoth = sentInBoth(result);
  assert.ok(isEnough(inBoth), `${inBoth}`);

  function isEnough(ofUsers) {
    return ofUsers.length === 4 && ofUsers.every((n) => n > 0) && sum(ofUsers, Number) > 20;
  }
});

/**
 * How many requests each user sent to both variants in the first trial of each: its sequence is the same, so far as both
 * got. A user keeps its connection to a variant; users get on at different paces.
 */
function sentInBoth({ document, servers }) {
  const sequences = (variant) => {
    const { begin, drained } = document.trials.find((trial) => trial.variant === variant);
    const within = servers[variant].log.filter(({ arrived }) => arrived >= begin && arrived <= drained + 50);
    const users = [...new Set(within.map(({ connection }) => connection))];
    return users.map((user) => within.filter(({ connection }) => connection === user).map(asLine));
  };
  const asLine = ({ method, url, body }) => `${method} ${url} ${body}`;
  const others = sequences('virtual');
  return sequences('platform').map((sent) => {
    const both = others.map((other) => {
      const length = Math.min(sent.length, other.length);
      return sent.slice(0, length).every((line, i) => line === other[i]) ? length : 0;
    });
    return Math.max(0, ...both);
  });
}

test('an answer that is not as expected has failed', async () => {
  const answer = ({ url }) => ({ body: url === '/right' ? '{"id":1}' : '{"id":"1"}' });
  const expected = [{ steps: ['id'], value: '1' }];
  const requests = ['/right', '/wrong'].map((path) => request({ path, expected }));
  const { code, records } = await measured({ answer, change: { requests } }, (result) => result.records.every(hasBoth));
  assert.equal(code, 0);
  for (const record of records) {
    const { failed } = record;
    assert.ok(hasBoth(record), JSON.stringify(failed));
    assert.deepEqual(Object.keys(failed), ['body']);
  }

  function hasBoth({ ok, failed }) {
    return ok > 0 && failed.body > 0;
  }
});

const LOGIN = {
  method: 'POST',
  path: '/login',
  query: {},
  headers: {},
  body: '{"user": "{user}", "password": "{password}"}',
  is_json: true,
  status: 200,
  capture: { token: ['auth', 'token'] },
};
const REQUESTS = [request({ path: '/of/{user}', headers: { Authorization: 'Bearer {token}' } })];

test('every user logs in once for each variant, before any window, and keeps that account', async () => {
  const answer = ({ url, body }) =>
    url === '/login' ? { body: `{"auth":{"token":"secret-token-${JSON.parse(body).user}"}}` } : {};
  const samples = join(folder, 'login-samples.json');
  const users = ['anna', 'ben', 'eve', 'tim', 'zoe'].map((user) => [user, `secret-password-${user}`]);
  const asked = ({ log }) => log.filter(({ url }) => url !== '/login');
  const result = await measured(
    {
      answer,
      change: { requests: REQUESTS, workload: { has_login: true } },
      env: { PRIVATE: secrets({ columns: ['user', 'password'], rows: users, login: LOGIN }) },
      options: { args: ['-o', `json=${samples}`] },
    },
    ({ servers }) => Object.values(servers).every((server) => asked(server).length > 0),
  );
  assert.equal(result.code, 0, result.stderr);
  for (const server of Object.values(result.servers)) {
    const { log } = server;
    const logins = log.filter(({ url }) => url === '/login');
    assert.deepEqual(logins.map(({ body }) => JSON.parse(body)).sort(byUser), users.slice(0, 4).map(asBody));
    assert.ok(logins.every(({ arrived }) => arrived < result.records[0].begin));
    const others = asked(server);
    assert.ok(others.length > 0);
    for (const { url, headers } of others) {
      assert.equal(headers.authorization, `Bearer secret-token-${url.replace('/of/', '')}`);
    }
  }
  assert.deepEqual(
    result.records.map(({ failed }) => failed),
    [{}, {}, {}, {}],
  );
  for (const [what, text] of Object.entries({
    'the document': JSON.stringify(result.document),
    'what k6 prints': result.stdout + result.stderr,
    // Too long for a text, maybe.
    'a sample': readFileSync(samples),
  })) {
    assert.deepEqual([text.includes('secret'), text.includes('anna')], [false, false], what);
  }

  function byUser(a, b) {
    return a.user < b.user ? -1 : 1;
  }
  function asBody([user, password]) {
    return { user, password };
  }
});

for (const [what, refusal] of [
  ['is refused', { status: 401 }],
  ['has no token in its answer', { body: '{"auth":{}}' }],
]) {
  test(`a user whose login ${what} sends nothing else, and each of its turns has failed`, async () => {
    const { code, records, servers } = await measured(
      {
        answer: ({ url }) => (url === '/login' ? refusal : {}),
        change: { requests: REQUESTS, workload: { has_login: true } },
        env: { PRIVATE: secrets({ columns: ['user', 'password'], rows: [['anna', 'x']], login: LOGIN }) },
      },
      (result) => turns(result) >= 4 * 4,
    );
    assert.equal(code, 0);
    for (const { ok, failed } of records) {
      assert.equal(ok, 0);
      assert.deepEqual(
        Object.keys(failed).filter((reason) => reason !== 'login'),
        [],
      );
    }
    // Each user pauses for longer than the shortest window: it has one turn in each trial, before the window or in it.
    assert.ok(turns({ records }) >= 4 * 4);
    for (const { log } of Object.values(servers)) assert.ok(log.every(({ url }) => url === '/login'));
  });
}

function turns({ records }) {
  return sum(records, ({ failed, failed_outside }) => (failed.login ?? 0) + failed_outside);
}
