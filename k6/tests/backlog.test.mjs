// As many users as an experiment has: most of a CPU for a minute.
import { test } from 'node:test';
import { backlog, heldByEveryUser } from './backlog.mjs';
import { undisturbed } from './laws.mjs';

test('a trial in which 800 of 1000 users wait loses no request and leaves an idle server', async () => {
  // 200 workers, as many as Tomcat has.
  await undisturbed(() => backlog(1000), heldByEveryUser);
});
