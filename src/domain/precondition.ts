import { hash } from 'node:crypto';
import { isSamePlant, type NewPlant } from './plant.ts';

/** Limits a change to plants with certain fingerprints. */
export interface Precondition {
  /** The plant must have one of these; any plant will do by default. */
  readonly matches?: 'any' | readonly string[] | undefined;
  /** The plant must have none of these. */
  readonly excludes?: 'any' | readonly string[] | undefined;
}

/** A hash that only equal plants share. Clients keep it, so later versions must compute the same one. */
export function fingerprintOf({ id, name, tag }: NewPlant): string {
  const last = tag === undefined ? '' : `,"tag":${JSON.stringify(tag)}`;
  return hash('sha256', `{"id":${id},"name":${JSON.stringify(name)}${last}}`, 'base64url');
}

/**
 * What a change turns the stored plant into. A deleted plant stays deleted. A plant that is already as requested meets any
 * `matches`: otherwise, a repeated change would be refused because it had succeeded.
 *
 * @returns `unmet` if the precondition is not met
 */
export function changed(
  stored: NewPlant | 'deleted',
  target: NewPlant | 'deleted',
  { matches = 'any', excludes = [] }: Precondition,
): NewPlant | 'deleted' | 'unmet' {
  if (stored === 'deleted') return stored;
  const isIn = (plants: 'any' | readonly string[]) =>
    plants === 'any' || (plants.length > 0 && plants.includes(fingerprintOf(stored)));
  const isMet = !isIn(excludes) && (isIn(matches) || isSamePlant(stored, target));
  return isMet ? target : 'unmet';
}
