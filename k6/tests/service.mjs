// A small service: what it answers is a function of what was asked. It keeps a log of that.
import { createServer } from 'node:http';
import { now } from './stub.mjs';

/** `answer({method, url, headers, body})` returns `{status, body, headers}`, each of which may be left out. */
export async function service(answer, delay = 5) {
  const log = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (data) => {
      body += data;
    });
    request.on('end', () => {
      const { method, url, headers } = request;
      const asked = { method, url, headers, body };
      log.push({ ...asked, arrived: now() });
      const { status = 200, body: text = '{}', headers: more = {} } = answer(asked) ?? {};
      setTimeout(() => response.writeHead(status, more).end(text), delay);
    });
  });
  server.keepAliveTimeout = 60_000;
  await new Promise((resolve) => server.listen(0, '127.0.0.1', 4096, resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    log,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
