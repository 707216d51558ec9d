import { fieldRules, isPlantId } from '../domain/plant.ts';

/** The rule of an id outside JSON; completes "<name> must be ...". */
export const plantIdRule = `${fieldRules.id} in decimal digits, without leading zeros or a plus sign`;

/** One spelling for each id, so that each plant has one URL. */
const SPELLING = /^(0|-?[1-9]\d{0,18})$/;

/** Reads an id outside JSON: in a path, a query or a command line. Returns undefined if it breaks the rule. */
export function parsePlantId(text: string): bigint | undefined {
  if (!SPELLING.test(text)) return undefined;
  const id = BigInt(text);
  return isPlantId(id) ? id : undefined;
}
