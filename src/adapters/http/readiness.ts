import { setTimeout as delay } from 'node:timers/promises';

/**
 * Rejects with the problem and its remedy while the service should receive no requests. Otherwise, resolves to undefined, or
 * to a problem that should not keep requests away. A check may outlast the probe that waits for it, but another probe must
 * not start it again meanwhile.
 */
export type ReadinessCheck = () => Promise<string | undefined>;

/** Milliseconds for a check: fewer than the second after which many probes time out and would miss the problem. */
const CHECK_MS_MAX = 800;

/** Milliseconds for which all callers get the same result. */
const RESULT_AGE_MS_MAX = 1_000;

/** Whether the service should receive requests, by its checks. */
export interface Readiness {
  /** Runs the checks. Resolves to the names of those that failed, and to `ok` or the problem of each check, by its name. */
  report(): Promise<{ readonly failed: readonly string[]; readonly texts: Readonly<Record<string, string>> }>;
  /** Whether all checks passed within the last second: anybody may ask, and must not load the database. */
  isReady(): Promise<boolean>;
}

export function readiness(checks: Readonly<Record<string, ReadinessCheck>>): Readiness {
  let askedAt = Number.NEGATIVE_INFINITY;
  let result: Promise<boolean>;

  async function report() {
    const results = await Promise.all(Object.entries(checks).map(([name, check]) => resultOf(name, check)));
    return {
      failed: results.flatMap(({ name, hasPassed }) => (hasPassed ? [] : name)),
      texts: Object.fromEntries(results.map(({ name, text }) => [name, text])),
    };
  }

  return {
    report,
    isReady() {
      const now = performance.now();
      if (now - askedAt < RESULT_AGE_MS_MAX) return result;
      askedAt = now;
      result = report().then(({ failed }) => failed.length === 0);
      return result;
    },
  };
}

async function resultOf(name: string, check: ReadinessCheck) {
  const timeout = delay(CHECK_MS_MAX, undefined, { ref: false }).then(() => {
    throw new Error(`no response within ${CHECK_MS_MAX} ms`);
  });
  try {
    const problem = await Promise.race([check(), timeout]);
    return { name, hasPassed: true, text: problem === undefined ? 'ok' : `ok, but ${problem}` };
  } catch (error) {
    return { name, hasPassed: false, text: error instanceof Error ? error.message : String(error) };
  }
}
