import type { Position } from '../ports.ts';
import type { FailedAttempt, Failure, Lease } from './ports.ts';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

/** Milliseconds until the next attempt after the first failure, the second and so on; the last one from then on. */
const DELAYS = [5 * SECOND, 30 * SECOND, 120 * SECOND, 600 * SECOND, 1_800 * SECOND, HOUR];

/** The part of a delay by which it may grow at random, so that not all endpoints of a host are tried at once. */
const JITTER = 0.1;

/** Milliseconds without any progress after which an endpoint is parked: three days. */
const PATIENCE = 72 * HOUR;

/** Three days of these delays are at least so many failures; fewer mean that the clock of the store has jumped. */
const MIN_FAILURES = 10;

/**
 * Decides when to try again.
 *
 * @param lease as it was before the failure, or since the last progress
 * @param random from 0 to 1
 */
export function failedAttempt(lease: Lease, failing: Position, failure: Failure, random: number): FailedAttempt {
  const { reason, isGone = false, retryAfter = 0 } = failure;
  const failures = lease.failures + 1;
  const delay = DELAYS[Math.min(failures, DELAYS.length) - 1] ?? HOUR;
  const retryIn = Math.max(delay, Math.min(retryAfter, HOUR)) * (1 + JITTER * random);
  const isLost = lease.failingFor >= PATIENCE && failures >= MIN_FAILURES;
  return { failing, reason, failures, retryIn, isParked: isGone || isLost };
}
