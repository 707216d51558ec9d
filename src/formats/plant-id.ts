import { fieldRules, isPlantId } from '../domain/plant.ts';

/** One spelling for each id, so that each plant has one URL. */
const SPELLING = /^(0|-?[1-9]\d{0,18})$/;

/** An id outside JSON: in a path, a query or a command line. */
export const decimalId = {
  /** Completes "<name> must be ...". */
  mustBe: `${fieldRules.id} in decimal digits, without leading zeros or a plus sign`,
  /** Returns undefined if the text breaks the rule. */
  parse(text: string): bigint | undefined {
    if (!SPELLING.test(text)) return undefined;
    const id = BigInt(text);
    return isPlantId(id) ? id : undefined;
  },
};
