// A small service: what it answers is a function of what was asked. It keeps a log of that.
import { createServer } from 'node:http';
import { now } from './stub.mjs';

/**
 * `answer({method, url, headers, body})` returns `{status, body, headers, after}`, each of which may be left out: `after`
 * replaces the milliseconds of the delay, and an infinite one leaves the request without an answer. The log has the
 * number of each request's connection.
 */
export async function service(answer, delay = 5) {
  const log = [];
  const connections = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (data) => {
      body += data;
    });
    request.on('end', () => {
      const { method, url, headers } = request;
      const asked = { method, url, headers, body };
      const entry = { ...asked, arrived: now(), connection: connections.indexOf(request.socket) };
      log.push(entry);
      const { status = 200, body: text = '{}', headers: more = {}, after = delay } = answer(asked) ?? {};
      if (after === Number.POSITIVE_INFINITY) return;
      setTimeout(() => {
        entry.ended = now();
        response.writeHead(status, more).end(text);
      }, after);
    });
  });
  server.on('connection', (socket) => connections.push(socket));
  server.keepAliveTimeout = 60_000;
  await new Promise((resolve) => server.listen(0, '127.0.0.1', 4096, resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    log,
    /** Milliseconds of the longest answer to what arrived then. */
    longest: (from, to) => {
      const answered = log.filter(({ arrived, ended }) => ended !== undefined && arrived >= from && arrived <= to);
      return answered.reduce((longest, { arrived, ended }) => Math.max(longest, ended - arrived), 0);
    },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
