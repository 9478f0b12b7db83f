// Trials that leave most of their users waiting.
import { block, experiment } from './k6.mjs';
import { near, sound } from './laws.mjs';
import { constant, queue, stub } from './stub.mjs';

/** Workers of 250 ms for a fifth of the users: the others wait, each answer takes 1.25 s. */
export async function backlog(users) {
  const servers = { queue: await stub(queue(users / 5, 250)), constant: await stub(constant(1250)) };
  const result = await block(
    experiment({
      load: { model: 'closed', users, round: { queue: 1250, constant: 1250 } },
      windows: { measure: 2500 },
    }),
    servers,
    { WARMUP_CYCLES: '0', ORDER: 'queue,queue,constant,constant' },
  );
  for (const server of Object.values(servers)) server.close();
  return { ...result, users };
}

export function heldByEveryUser(result) {
  sound(result);
  for (const record of result.document.trials) near(record.in_flight.end, result.users, 0.1, 'in flight at the end');
}
