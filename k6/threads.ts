// The script of `helm test`: each variant answers with the right kind of thread.
// EXPECTED  JSON: base URL -> whether the thread is virtual
import { check, sleep } from 'k6';
import http, { type RefinedResponse } from 'k6/http';
import type { Options } from 'k6/options';

/** The console of k6, which its types leave out. */
declare const console: { log(text: string): void };

export const options: Options = {
  // Every check, or the test has failed.
  thresholds: { checks: ['rate==1'] },
};

const expected: Record<string, boolean> = JSON.parse(__ENV.EXPECTED as string);

/** Milliseconds: a network policy may admit a new pod late where the machine is slow. */
const PATIENCE = 120_000;

/** Asks until there is an answer, or `end` is reached. */
function answered(url: string, end: number): RefinedResponse<'text'> {
  for (;;) {
    const response = http.get(url, { timeout: '10s', responseType: 'text' });
    if (response.status !== 0 || Date.now() > end) {
      return response;
    }
    sleep(0.5);
  }
}

export default function () {
  const end = Date.now() + PATIENCE;
  for (const [url, isVirtual] of Object.entries(expected)) {
    const response = answered(`${url}/thread?duration=10ms`, end);
    const ok = check(response, {
      [`${url} answers on a ${isVirtual ? 'virtual' : 'platform'} thread`]: (r) =>
        r.status === 200 && r.json('isVirtual') === isVirtual,
    });
    console.log(`${ok ? 'ok' : 'FAILED'} ${url} ${response.status} ${response.body ?? response.error}`);
  }
}
