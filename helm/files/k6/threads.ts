// The script of `helm test`: each variant answers with the right kind of thread.
// EXPECTED  JSON: base URL -> whether the thread is virtual
import { check } from 'k6';
import http from 'k6/http';
import type { Options } from 'k6/options';

/** The console of k6, which its types leave out. */
declare const console: { log(text: string): void };

export const options: Options = {
  // Every check, or the test has failed.
  thresholds: { checks: ['rate==1'] },
};

const expected: Record<string, boolean> = JSON.parse(__ENV.EXPECTED as string);

export default function () {
  for (const [url, isVirtual] of Object.entries(expected)) {
    const response = http.get(`${url}/thread?duration=10ms`, { timeout: '10s' });
    const ok = check(response, {
      [`${url} answers on a ${isVirtual ? 'virtual' : 'platform'} thread`]: (r) =>
        r.status === 200 && r.json('isVirtual') === isVirtual,
    });
    console.log(`${ok ? 'ok' : 'FAILED'} ${url} ${response.status} ${response.body ?? response.error}`);
  }
}
