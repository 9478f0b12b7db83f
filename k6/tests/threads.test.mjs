// The script of `helm test`.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { test } from 'node:test';

const SCRIPT = new URL('../threads.ts', import.meta.url).pathname;

/** Cuts the first `cut` connections; answers then from a thread of one kind. Returns its URL and its end. */
async function variant(isVirtual, cut = 0) {
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    if (requests <= cut) request.socket.destroy();
    else response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ isVirtual }));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

/** Runs the script; returns k6's exit code and all it printed. */
function run(expected) {
  const env = { ...process.env, EXPECTED: JSON.stringify(expected), K6_NO_USAGE_REPORT: 'true' };
  return new Promise((resolve, reject) => {
    const child = spawn(process.env.K6 || 'k6', ['run', '--quiet', SCRIPT], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let printed = '';
    child.stdout.on('data', (part) => {
      printed += part;
    });
    child.stderr.on('data', (part) => {
      printed += part;
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, printed }));
  });
}

test('a variant that cannot be reached for the first 15 s passes, as a network policy may admit a new pod late', async () => {
  // There are 0.5 s between two requests.
  const late = await variant(true, 30);
  try {
    const { code, printed } = await run({ [late.url]: true });
    assert.equal(code, 0, printed);
    assert.match(printed, new RegExp(`ok ${late.url} 200`));
  } finally {
    late.close();
  }
});

test('a variant on the other kind of thread fails, and the one beside it passes', async () => {
  const [platform, wrong] = [await variant(false), await variant(false)];
  try {
    const { code, printed } = await run({ [platform.url]: false, [wrong.url]: true });
    assert.notEqual(code, 0, printed);
    assert.match(printed, new RegExp(`ok ${platform.url} 200`));
    assert.match(printed, new RegExp(`FAILED ${wrong.url} 200`));
  } finally {
    platform.close();
    wrong.close();
  }
});
