// The k6/execution of a user's script: as if its iterations were k6's. For k6 an iteration is a user's part in a whole
// phase.
import exec from 'k6/execution';
import { turn } from './scripts.ts';

export const vu = {
  get idInInstance() {
    return exec.vu.idInInstance;
  },
  get idInTest() {
    return exec.vu.idInTest;
  },
  get iterationInInstance() {
    return turn.iteration;
  },
  get iterationInScenario() {
    return turn.iteration;
  },
  get tags() {
    return exec.vu.tags;
  },
  get metrics() {
    return exec.vu.metrics;
  },
};

export const scenario = {
  get name() {
    return turn.task?.scenario ?? exec.scenario.name;
  },
  get executor() {
    return turn.task?.executor ?? exec.scenario.executor;
  },
  get startTime() {
    return exec.scenario.startTime;
  },
  get progress() {
    return exec.scenario.progress;
  },
  get iterationInInstance() {
    return turn.iterationInTest;
  },
  get iterationInTest() {
    return turn.iterationInTest;
  },
};

/** Proxies, because k6 has these two only once a user runs. */
export const instance = new Proxy({}, { get: (_, name) => Reflect.get(exec.instance, name) });
export const test = new Proxy({}, { get: (_, name) => Reflect.get(exec.test, name) });

export default { vu, scenario, instance, test };
