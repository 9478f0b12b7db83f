// The parts of lib/ that need no k6, compiled as they are; `k6/metrics` is a stand-in.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { folder } from './k6.mjs';

const root = new URL('..', import.meta.url).pathname;
const out = join(folder, 'compiled');
execFileSync(process.execPath, [
  join(root, 'node_modules/typescript/bin/tsc'),
  ...['-p', root, '--noEmit', 'false', '--outDir', out],
]);
const standIn = join(out, 'node_modules/k6');
mkdirSync(standIn, { recursive: true });
writeFileSync(join(out, 'package.json'), '{"type":"module"}');
writeFileSync(join(standIn, 'package.json'), '{"type":"module","exports":{"./metrics":"./metrics.js"}}');
writeFileSync(
  join(standIn, 'metrics.js'),
  'class M { constructor(name) { this.name = name; } }\nexport { M as Counter, M as Gauge, M as Trend };\n',
);

export const load = (name) => import(join(out, 'lib', `${name}.js`));
