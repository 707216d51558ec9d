import type { NewPlant } from '../../src/domain/plant.ts';
import { newHistory, type State } from '../support/linearizability.ts';
import { simulation } from './kernel.ts';
import type { Plan } from './plan.ts';

/** What has happened so far in a run, and what of it was wrong. */
export function newRun(plan: Plan) {
  const failures: string[] = [];
  const log: string[] = [];
  const note = (text: string) => void log.push(`${simulation.now().toFixed(1).padStart(9)}  ${text}`);
  return {
    plan,
    failures,
    log,
    note,
    fail(text: string): void {
      // Of a process that was killed, only what its callback had begun still runs, which nobody sees.
      if (simulation.current().isDead) return;
      note(`FAILED: ${text}`);
      failures.push(text);
    },
    history: newHistory(),
    /** How often clients got each answer. */
    answers: new Map<string, number>(),
    hasFaults: plan.postgres !== undefined || plan.events.some((one) => 'fault' in one || one.lost !== undefined),
    /** Whether followers may have to start again. */
    mayExpire: false,
    /** Whether the wall clock has not jumped, so that leases mean what they say. */
    isClockSteady: true,
    /** When the history had its last fault behind it. */
    healedAt: Number.POSITIVE_INFINITY,
  };
}

export type Run = ReturnType<typeof newRun>;

/** The content of a plant. */
export const stateOf = ({ name, tag }: NewPlant): State => JSON.stringify(name) + (tag === undefined ? '' : ` #${tag}`);
