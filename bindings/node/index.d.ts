/** Numbers of a sample, in the order of its inputs or outputs. */
export type Numbers = ArrayLike<number> | Iterable<number>;

/** What one step did. */
export interface Report {
  status: 'applied' | 'gated' | 'missing' | 'rejected non-finite' | 'rejected covariance';
  experts: number;
  applied: number;
  rejected: number;
  covarianceTrace: number;
}

/** Predictions or forecasts with their bounds; NaN where there is no telling yet. */
export interface Bounded {
  values: Float64Array;
  low: Float64Array;
  high: Float64Array;
}

export interface LearnerSettings {
  inputs?: number;
  outputs?: number;
  /** Of the random start; a whole number. */
  seed?: number | bigint;
  /** false: inputs and targets are taken as they are. */
  scaled?: boolean;
  /** Bounds that hold this part of the targets, e.g. 0.9. */
  interval?: number;
  /** How strange targets are can be asked. */
  surprise?: boolean;
  /** Forecasts are learnt for each of so many samples ahead. */
  horizon?: number;
  /** Any setting of the learner: `learners()` lists them. */
  [setting: string]: number | bigint | boolean | string | undefined;
}

/** Every error has a `code`: INVALID, UNUSABLE, SNAPSHOT, SCHEMA, MEMORY, BUSY or INTERNAL. */
export class Learner {
  constructor(name?: string, settings?: LearnerSettings);
  static load(bytes: Uint8Array): Learner;
  readonly inputs: number;
  readonly outputs: number;
  readonly samples: number;
  predict(x: Numbers): Float64Array;
  interval(x: Numbers): Bounded;
  surprise(x: Numbers, d: Numbers): Float64Array;
  learn(x: Numbers, d: Numbers): Report;
  advance(x: Numbers): Report;
  observe(x: Numbers, d: Numbers): Report;
  forecast(horizon: number, future?: Numbers): Float64Array;
  forecastBounds(horizon: number, future?: Numbers): Bounded;
  expectPeriods(...samples: number[]): void;
  experts(): { name: string; weight: number }[];
  reset(): void;
  clone(): Learner;
  snapshot(): Buffer;
  save(): Buffer;
}

export class Stream {
  constructor(settings?: object, options?: { answers?: 'as records' | 'json' | 'csv'; checkpoint?: Uint8Array });
  take(record: string | object): string | null;
  learn(): void;
  remarks(): string[];
  schema(): any;
  status(): any;
  stateOf(key?: string): Buffer | null;
  putState(key: string, state: Uint8Array): void;
  forget(key?: string): boolean;
  checkpoint(): Buffer;
}

export const version: string;
export function learners(): { name: string; meaning: string; settings: object[] }[];
export function describe(bytes: Uint8Array): any;
