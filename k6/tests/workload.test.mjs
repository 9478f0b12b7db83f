// Workloads of requests against a small service: what is sent, what counts as an answer.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { block, experiment, file, folder, request } from './k6.mjs';
import { sum } from './laws.mjs';
import { service } from './service.mjs';

const SHORT = { WARMUP_CYCLES: '0', ORDER: 'platform,virtual,virtual,platform' };
const CLOSED = { load: { model: 'closed', users: 4 }, windows: { measure: 400 } };

/** Both variants are the same service, each with a log of its own. */
async function both(answer, delay) {
  return { platform: await service(answer, delay), virtual: await service(answer, delay) };
}

function close(servers) {
  for (const server of Object.values(servers)) server.close();
}

/** A file for k6 alone. */
function secrets(content) {
  return file({ columns: [], rows: [], values: {}, login: null, ...content });
}

test('requests are mixed by weight with bodies, headers and rows, in the same sequence for every variant', async () => {
  const servers = await both(({ method }) => ({ status: method === 'POST' ? 201 : 200 }));
  const post = { method: 'POST', path: '/visits', body: '{"pet": "{id}", "by": "{name}"}', is_json: true, status: 201 };
  const requests = [
    request({ path: '/owners/{id}', query: { q: '{name}' }, headers: { 'X-Key': '{env.KEY}' } }),
    request({ ...post, weight: 0.5 }),
    request({ method: 'DELETE', path: '/visits/{id}', body: 'id={id}', weight: 0.5 }),
  ];
  const rows = Array.from({ length: 50 }, (_, i) => [`${i}`, `n "${i}"`]);
  const result = await block(experiment({ ...CLOSED, requests }), servers, {
    ...SHORT,
    PRIVATE: secrets({ columns: ['id', 'name'], rows, values: { 'env.KEY': 'k-1' } }),
  });
  close(servers);
  assert.equal(result.code, 0, result.stderr);
  assert.deepEqual(
    result.records.map(({ failed }) => failed),
    [{}, {}, {}, {}],
  );
  const seen = servers.platform.log;
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
  // A variant's users send one sequence each: so far as both got, it is the same requests.
  const of = (log, trial) => {
    const { begin, drained } = result.document.trials[trial];
    const within = log.filter(({ arrived }) => arrived >= begin && arrived <= drained + 50);
    return within.map(({ method, url }) => `${method} ${url}`);
  };
  const [first, second] = [of(servers.platform.log, 0), of(servers.virtual.log, 1)];
  const least = Math.min(first.length, second.length) - 4 * 4;
  assert.ok(least > 20, `${least}`);
  // Users overtake each other: the sequences are the same but for what the last ones are.
  const missing = first.slice(0, least).filter((line) => !second.includes(line));
  assert.deepEqual(missing.length <= 0.1 * least, true, missing.join());
});

test('an answer that is not as expected has failed', async () => {
  const servers = await both(({ url }) => ({ body: url === '/right' ? '{"id":1}' : '{"id":"1"}' }));
  const expected = [{ steps: ['id'], value: '1' }];
  const requests = ['/right', '/wrong'].map((path) => request({ path, expected }));
  const { code, records } = await block(experiment({ ...CLOSED, requests }), servers, SHORT);
  close(servers);
  assert.equal(code, 0);
  for (const { ok, failed } of records) {
    assert.ok(ok > 0 && failed.body > 0, JSON.stringify(failed));
    assert.deepEqual(Object.keys(failed), ['body']);
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
  const servers = await both(({ url, body }) =>
    url === '/login' ? { body: `{"auth":{"token":"secret-token-${JSON.parse(body).user}"}}` } : {},
  );
  const samples = join(folder, 'login-samples.json');
  const content = experiment({ ...CLOSED, requests: REQUESTS, workload: { has_login: true } });
  const users = ['anna', 'ben', 'eve', 'tim', 'zoe'].map((user) => [user, `secret-password-${user}`]);
  const result = await block(
    content,
    servers,
    {
      ...SHORT,
      PRIVATE: secrets({ columns: ['user', 'password'], rows: users, login: LOGIN }),
    },
    { args: ['-o', `json=${samples}`] },
  );
  close(servers);
  assert.equal(result.code, 0, result.stderr);
  for (const { log } of Object.values(servers)) {
    const logins = log.filter(({ url }) => url === '/login');
    assert.deepEqual(logins.map(({ body }) => JSON.parse(body)).sort(byUser), users.slice(0, 4).map(asBody));
    assert.ok(logins.every(({ arrived }) => arrived < result.records[0].begin));
    const others = log.filter(({ url }) => url !== '/login');
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
    'a sample': readFileSync(samples, 'utf8'),
  })) {
    assert.doesNotMatch(text, /secret|anna/, what);
  }

  function byUser(a, b) {
    return a.user < b.user ? -1 : 1;
  }
  function asBody([user, password]) {
    return { user, password };
  }
});

for (const [what, answer] of [
  ['is refused', { status: 401 }],
  ['has no token in its answer', { body: '{"auth":{}}' }],
]) {
  test(`a user whose login ${what} sends nothing else, and each of its turns has failed`, async () => {
    const servers = await both(({ url }) => (url === '/login' ? answer : {}));
    const content = experiment({ ...CLOSED, requests: REQUESTS, workload: { has_login: true } });
    const PRIVATE = secrets({ columns: ['user', 'password'], rows: [['anna', 'x']], login: LOGIN });
    const { code, records } = await block(content, servers, { ...SHORT, PRIVATE });
    close(servers);
    assert.equal(code, 0);
    for (const { ok, failed } of records) {
      assert.equal(ok, 0);
      // Each user pauses for longer than the window: it has one turn, before the window or in it.
      assert.deepEqual(
        Object.keys(failed).filter((reason) => reason !== 'login'),
        [],
      );
    }
    assert.ok(sum(records, ({ failed, failed_outside }) => (failed.login ?? 0) + failed_outside) >= 4 * 4);
    for (const { log } of Object.values(servers)) assert.ok(log.every(({ url }) => url === '/login'));
  });
}
