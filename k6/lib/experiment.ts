// Generated from lab/vtlab/model/normalised.py by `make generate`: do not edit, a change is lost.

export interface Closed {
  model: 'closed';
  users: number;
  think_time: number;
  is_think_time_exponential: boolean;
  round: Record<string, number>;
  service_time: Record<string, number>;
}

export interface Expected {
  steps: string[];
  value: string | null;
}

export interface Open {
  model: 'open';
  users: number;
  rate: number;
  gaps: 'exponential' | 'even';
}

export interface Request {
  method: string;
  path: string;
  query: Record<string, string>;
  headers: Record<string, string>;
  body: string | null;
  is_json: boolean;
  status: number;
  expected: Expected[];
  weight: number;
}

export interface Typical {
  rate: number | null;
  gaps: 'exponential' | 'even';
}

export interface Windows {
  warmup_users: number;
  warmup_query: Record<string, string> | null;
  warmup_load: number;
  warmup_cycles: number;
  warmup_requests: number;
  single_user_phase: number;
  ramp_up: number;
  measure: number;
  measure_by_variant: Record<string, number>;
  trials: number;
  wait_for_answers: boolean;
}

export interface Workload {
  requests: Request[];
  has_login: boolean;
  is_script: boolean;
}

export interface Experiment {
  normalised: 1;
  name: string;
  workload: Workload;
  load: Closed | Open;
  typical: Typical | null;
  windows: Windows;
  max_response: number;
  variants: string[];
}
