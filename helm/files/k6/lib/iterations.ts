// One user of the user's own k6 script: an iteration is one call of its function, as under `k6 run`.
import exec from 'k6/execution';
import { now as clock } from './clock.ts';
import { Jar, patch, now as sending } from './http.ts';
import type { User, Users } from './load.ts';
import { drawn } from './mix.ts';
import type { Phase } from './plan.ts';
import type { Findings } from './preflight.ts';
import { random } from './random.ts';
import { environment, type Script, scripts, type Task, type Tasks, taskOf, tasksOf, turn } from './scripts.ts';

/** k6's own, which its types leave out. */
declare const console: { error(text: string): void };

/** What a script's setup() returned, by variant. */
export type SetupData = Record<string, unknown>;

/** The users of a script. `origin`: what stands for the variant in it; `users`: how many there are at most. */
export function scriptUsers(script: Script, origin: string | undefined, users: number, seed: string) {
  const tasks = tasksOf(script);
  /** Iterations of this user so far, by variant. */
  const iterations: Record<string, number> = {};
  const jars: Record<string, Jar> = {};
  let data: SetupData = {};
  sending.origin = origin;
  patch();

  return { take, login: () => {}, preflight, receive, setup, teardown } satisfies Users & Record<string, unknown>;

  function receive(all: SetupData): void {
    data = all;
  }

  function take(phase: Phase, user: number): User {
    const next = nextTask(tasks, user, seed);
    forVariant(phase.variant, phase.base);

    return {
      skip: () => {
        next();
      },
      async iterate() {
        const n = iterations[phase.variant] ?? 0;
        iterations[phase.variant] = n + 1;
        const from = clock();
        try {
          await iterateAs(next(), n, user);
          return { took: clock() - from };
        } catch (error) {
          // As k6 does, though not of every user.
          if (user === 0) console.error(`${phase.variant}, phase ${phase.trial}: ${error}`);
          return { took: clock() - from, reason: 'exception' };
        }
      },
    };
  }

  /** One call of a task's function, with what k6 has for an iteration. */
  async function iterateAs(task: Task, n: number, user: number): Promise<void> {
    const script = scripts[turn.variant] as Script;
    sending.jar = (script.options?.noCookiesReset && jars[turn.variant]) || new Jar();
    jars[turn.variant] = sending.jar;
    turn.task = task;
    turn.iteration = n;
    // Every number at most once, as of all iterations in a test.
    turn.iterationInTest = n * users + user;
    Object.assign(globalThis, { __ITER: n });
    const { tags } = exec.vu.metrics;
    const own = { ...task.tags, scenario: task.scenario };
    Object.assign(tags, own);
    Object.assign(__ENV, task.env);
    try {
      await (script[task.exec] as (data: unknown) => unknown)(data[turn.variant]);
    } finally {
      for (const name of Object.keys(own)) delete tags[name];
      for (const name of Object.keys(task.env)) delete __ENV[name];
    }
  }

  /** Calls the script's setup() for each variant; what it returns goes to all users. */
  async function setup(targets: Record<string, string>): Promise<SetupData> {
    const all: SetupData = {};
    for (const [variant, base] of Object.entries(targets)) {
      forVariant(variant, base);
      exec.vu.metrics.tags.phase = 'setup';
      sending.jar = new Jar();
      const script = scripts[variant];
      if (!script?.options?.noSetup) all[variant] = await script?.setup?.();
    }
    return all;
  }

  async function teardown(targets: Record<string, string>, all: SetupData): Promise<void> {
    for (const [variant, base] of Object.entries(targets)) {
      forVariant(variant, base);
      exec.vu.metrics.tags.phase = 'teardown';
      sending.jar = new Jar();
      const script = scripts[variant];
      if (!script?.options?.noTeardown) await script?.teardown?.(all[variant]);
    }
  }

  /** Its setup(), and each task once. Without an origin that stands for the variant every one does: nothing is asked of
   * others before it is known what they are. */
  async function preflight(variant: string, base: string): Promise<Findings> {
    sending.asked = {};
    sending.answered = {};
    sending.isPreflight = sending.origin === undefined;
    let error: string | null = null;
    try {
      receive(await setup({ [variant]: base }));
      for (const [n, task] of tasks.list.entries()) await iterateAs(task, n, 0);
      await teardown({ [variant]: base }, data);
    } catch (thrown) {
      error = String(thrown);
    }
    return { answers: [], asked: sending.asked, answered: sending.answered, error };
  }

  function forVariant(variant: string, base: string): void {
    turn.variant = variant;
    sending.base = base;
    exec.vu.metrics.tags.variant = variant;
    // As when its modules were read: functions may read it only now, and k6 has set it anew for this user.
    Object.assign(__ENV, environment, { BASE_URL: base });
  }
}

/** A user keeps its task, or draws one for each iteration: the same sequence for every variant. */
function nextTask(tasks: Tasks, user: number, seed: string): () => Task {
  if (!tasks.areDrawn) {
    const task = taskOf(user, tasks);
    return () => task;
  }
  const { list } = tasks;
  const next = drawn(
    list.map(({ weight }) => weight),
    random(seed, 'tasks', user),
  );
  return () => list[next()] as Task;
}
