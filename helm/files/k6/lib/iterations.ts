// The users of a user's own k6 script: an iteration is one call of its function, as under `k6 run`.
import exec from 'k6/execution';
import { now } from './clock.ts';
import { encodeForm } from './codes.ts';
import { Jar, patch, sending } from './http.ts';
import { type Kinds, kindsOf, sharesOf } from './kinds.ts';
import { Choices } from './mix.ts';
import type { Phase } from './phase.ts';
import type { Findings } from './preflight.ts';
import { environment, type Script, scripts, type Task, type Tasks, taskOf, tasksOf, turn } from './scripts.ts';
import type { Answered, Outcome, User, Users } from './users.ts';

/** The console of k6, which its types leave out. */
declare const console: { error(text: string): void };

/** Values that a script's setup() returned, by variant. */
export type SetupData = Record<string, unknown>;

export class ScriptUsers implements Users {
  private readonly tasks: Tasks;
  private readonly taskKinds: Kinds;
  /** The most users that there are. */
  private readonly users: number;
  private readonly choices: Choices;
  /** Iterations of this user so far, by variant. */
  private readonly iterations: Record<string, number> = {};
  private readonly jars: Record<string, Jar> = {};
  private data: SetupData = {};

  /** `origin`: what stands for the variant in the script. */
  constructor(script: Script, origin: string | undefined, users: number, seed: string) {
    this.tasks = tasksOf(script);
    this.taskKinds = kindsOf(this.tasks.list.map(({ scenario }) => scenario));
    this.users = users;
    this.choices = new Choices(this.weights, seed, 'tasks');
    sending.origin = origin;
    patch();
  }

  get kinds(): string[] {
    return this.taskKinds.names;
  }

  get shares(): number[] {
    return sharesOf(this.weights, this.taskKinds);
  }

  private get weights(): number[] {
    return this.tasks.list.map(({ weight }) => weight);
  }

  receive(data: SetupData): void {
    this.data = data;
  }

  take(phase: Phase, user: number): User {
    const next = this.nextTask(phase, user);
    forVariant(phase.variant, phase.base);
    return {
      skip: () => this.kindOf(next()),
      iterate: (_, isSampled) => this.iterate(next(), phase, user, isSampled),
    };
  }

  /** Returns what gives a user's next task: it keeps one, or one is chosen for each iteration. */
  private nextTask(phase: Phase, user: number): () => Task {
    const { list, areDrawn } = this.tasks;
    if (!areDrawn) {
      const task = taskOf(user, this.tasks);
      return () => task;
    }
    const next = this.choices.of(phase, user);
    return () => list[next()] as Task;
  }

  private async iterate(task: Task, phase: Phase, user: number, isSampled: boolean): Promise<Outcome> {
    const n = this.iterations[phase.variant] ?? 0;
    this.iterations[phase.variant] = n + 1;
    const kind = this.kindOf(task);
    const answers: Answered[] = [];
    const bodies: string[] = [];
    Object.assign(sending, { answers, bodies: isSampled ? bodies : undefined });
    let reason: string | undefined;
    const from = now();
    try {
      await this.call(task, n, user);
    } catch (error) {
      // As k6 does, though not of every user.
      if (user === 0) console.error(`${phase.variant}, phase ${phase.trial}: ${error}`);
      reason = 'exception';
    }
    const took = now() - from;
    // One of an iteration, another in each: a script's first answer is not like its last.
    return { took, reason, kind, answers, form: encodeForm(kind, bodies[(user + n) % bodies.length]) };
  }

  private kindOf(task: Task): number {
    return this.taskKinds.of[this.tasks.list.indexOf(task)] ?? 0;
  }

  /** A script logs in itself. */
  login(): void {}

  /** Calls a task's function once, with what k6 has for an iteration. */
  private async call(task: Task, n: number, user: number): Promise<void> {
    const script = scripts[turn.variant] as Script;
    sending.jar = (script.options?.noCookiesReset && this.jars[turn.variant]) || new Jar();
    this.jars[turn.variant] = sending.jar;
    turn.task = task;
    turn.iteration = n;
    // Every number at most once, as of all iterations in a test.
    turn.iterationInTest = n * this.users + user;
    Object.assign(globalThis, { __ITER: n });
    const { tags } = exec.vu.metrics;
    const taskTags = { ...task.tags, scenario: task.scenario };
    Object.assign(tags, taskTags);
    Object.assign(__ENV, task.env);
    try {
      await (script[task.exec] as (data: unknown) => unknown)(this.data[turn.variant]);
    } finally {
      for (const name of Object.keys(taskTags)) delete tags[name];
      for (const name of Object.keys(task.env)) delete __ENV[name];
    }
  }

  /** Calls the script's setup() for each variant; what it returns goes to all users. */
  async setup(targets: Record<string, string>): Promise<SetupData> {
    const data: SetupData = {};
    for (const [variant, base] of Object.entries(targets)) {
      const script = begin('setup', variant, base);
      if (!script?.options?.noSetup) data[variant] = await script?.setup?.();
    }
    return data;
  }

  async teardown(targets: Record<string, string>, data: SetupData): Promise<void> {
    for (const [variant, base] of Object.entries(targets)) {
      const script = begin('teardown', variant, base);
      if (!script?.options?.noTeardown) await script?.teardown?.(data[variant]);
    }
  }

  /**
   * Calls setup() and each task once. Without an origin that stands for the variant every one does: nothing is asked of
   * others before it is known what they are.
   */
  async preflight(variant: string, base: string): Promise<Findings> {
    sending.asked = {};
    sending.answered = {};
    sending.isPreflight = sending.origin === undefined;
    let error: string | null = null;
    try {
      this.receive(await this.setup({ [variant]: base }));
      for (const [n, task] of this.tasks.list.entries()) await this.call(task, n, 0);
      await this.teardown({ [variant]: base }, this.data);
    } catch (thrown) {
      error = String(thrown);
    }
    return { answers: [], asked: sending.asked, answered: sending.answered, error };
  }
}

/** Begins a variant's setup() or teardown(). Returns its instance of the script. */
function begin(phase: 'setup' | 'teardown', variant: string, base: string): Script | undefined {
  forVariant(variant, base);
  exec.vu.metrics.tags.phase = phase;
  sending.jar = new Jar();
  return scripts[variant];
}

function forVariant(variant: string, base: string): void {
  turn.variant = variant;
  sending.base = base;
  exec.vu.metrics.tags.variant = variant;
  // As when its modules were read: functions may read it only now, and k6 has set it anew for this user.
  Object.assign(__ENV, environment, { BASE_URL: base });
}
