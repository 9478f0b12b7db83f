// HTTP servers of known behaviour. Each keeps a log of what it saw, on the same clock as the document.
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { certificate } from './certificate.mjs';

export function now() {
  return performance.timeOrigin + performance.now();
}

/**
 * `behave(n, done)` gets the number of the request and calls `done(status)`, or `done()` to cut the
 * connection. With `connecting` every request needs a new connection, whose TLS handshake takes that long.
 */
export async function stub(behave, connecting) {
  const log = [];
  const make = connecting === undefined ? createServer : (serve) => createTlsServer(slowly(connecting), serve);
  const server = make((request, response) => {
    if (connecting !== undefined) response.setHeader('Connection', 'close');
    const entry = { arrived: now(), ended: Number.POSITIVE_INFINITY, url: request.url };
    log.push(entry);
    response.on('close', () => {
      entry.ended = Math.min(entry.ended, now());
    });
    behave(log.length, (status) => {
      entry.ended = Math.min(entry.ended, now());
      if (status === undefined) request.socket.destroy();
      else response.writeHead(status).end('{"answer":42}');
    });
  });
  const connections = [];
  server.on('connection', () => connections.push(now()));
  server.keepAliveTimeout = 60_000;
  await new Promise((resolve) => server.listen(0, '127.0.0.1', 4096, resolve));
  return {
    // TLS by name: only then the server is asked for the certificate of a name.
    url: `${connecting === undefined ? 'http://127.0.0.1' : 'https://localhost'}:${server.address().port}`,
    log,
    connectedIn: (start, end) => connections.filter((time) => time >= start && time < end),
    inFlightAt: (time) => log.filter((entry) => entry.arrived < time && entry.ended > time).length,
    /** Milliseconds of the longest answer to what arrived then, with its connection. */
    longest: (from, to) => {
      const answers = log.filter(({ arrived }) => arrived >= from && arrived <= to);
      return (connecting ?? 0) + Math.max(0, ...answers.map(({ arrived, ended }) => ended - arrived));
    },
    endedIn: (start, end) => log.filter((entry) => entry.ended >= start && entry.ended < end),
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function slowly(connecting) {
  return { ...certificate(), SNICallback: (_, done) => setTimeout(done, connecting, null) };
}

export function constant(ms) {
  return (_, done) => setTimeout(done, ms, 200);
}

/** Every `every`-th request takes `slow`, the others `fast`. */
export function bimodal(fast, slow, every) {
  return (n, done) => setTimeout(done, n % every === 0 ? slow : fast, 200);
}

/** So many workers, and a queue before them. */
export function queue(workers, ms) {
  const waiting = [];
  let busy = 0;
  function work(done) {
    busy++;
    setTimeout(() => {
      busy--;
      done(200);
      if (waiting.length > 0) work(waiting.shift());
    }, ms);
  }
  return (_, done) => {
    if (busy < workers) work(done);
    else waiting.push(done);
  };
}

export function statuses(list, ms) {
  return (n, done) => setTimeout(done, ms, list[n % list.length]);
}

export function cut(ms) {
  return (_, done) => setTimeout(done, ms, undefined);
}

export function hang() {}
