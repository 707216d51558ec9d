import { hash } from 'node:crypto';
import { isSamePlant, type NewPlant } from './plant.ts';

/** Which plants a change is for, by their fingerprints. */
export interface Precondition {
  /** Only for these; for any if it is not given. */
  readonly matches?: 'any' | readonly string[] | undefined;
  /** For none of these. */
  readonly excludes?: 'any' | readonly string[] | undefined;
}

/** What equal plants alone have in common. Clients keep it, so it must stay the same in later versions. */
export function fingerprintOf({ id, name, tag }: NewPlant): string {
  const last = tag === undefined ? '' : `,"tag":${JSON.stringify(tag)}`;
  return hash('sha256', `{"id":${id},"name":${JSON.stringify(name)}${last}}`, 'base64url');
}

/**
 * What a change makes of what is stored. A deleted plant stays deleted. One that is as wanted already meets any `matches`,
 * since whoever repeats a change would else be refused because of its success.
 *
 * @returns `unmet` if the precondition is not met
 */
export function changed(
  stored: NewPlant | 'deleted',
  wanted: NewPlant | 'deleted',
  { matches = 'any', excludes = [] }: Precondition,
): NewPlant | 'deleted' | 'unmet' {
  if (stored === 'deleted') return stored;
  const isIn = (plants: 'any' | readonly string[]) =>
    plants === 'any' || (plants.length > 0 && plants.includes(fingerprintOf(stored)));
  const isMet = !isIn(excludes) && (isIn(matches) || isSamePlant(stored, wanted));
  return isMet ? wanted : 'unmet';
}
