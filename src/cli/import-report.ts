import { shown, visible } from '../formats/shown.ts';
import type { Outcome, Refused } from '../lists/batches.js';
import { foldSpaces } from '../lists/records.js';
import { say } from '../runtime/say.ts';
import { formatCount, showProgress } from './progress.ts';
import type { Send } from './remote-service.ts';

/** The most refusals, and the most plants that would change, that are shown. */
const [REFUSALS_MAX, CHANGES_MAX] = [10, 20];

/** Says what is ignored and refused of a list and what would change, counts its records, and keeps the refused ones. */
export function importReport(send: Send, textLength: number) {
  const counts = { created: 0, changed: 0, unchanged: 0, refused: 0 };
  const records = () => Object.values(counts).reduce((sum, count) => sum + count);
  let [size, leftOut, changeCount, start] = [0, 0, 0, performance.now()];
  const [ignoredNames, refusedTexts] = [new Set<string>(), [] as string[]];
  const percent = () => Math.floor((100 * size) / textLength);
  const hideProgress = showProgress(() => `${percent()} %, ${formatCount(records())} plants`, process.stderr);

  /** The plant that has the id of a refused one, if the token may read it. */
  async function plantInPlace({ id, error, name = '' }: Refused): Promise<string> {
    const text = error === 40009 ? await send(`/plants/${id}`).catch(() => undefined) : undefined;
    if (text === undefined) return '';
    const plant: { readonly name: string; readonly tag?: string } = JSON.parse(text);
    const isAlike = name !== plant.name && foldSpaces(name) === foldSpaces(plant.name);
    return `, ${plantText(plant)}${isAlike ? ', whose name differs only in spaces' : ''}`;
  }
  return {
    refusedTexts,
    async add({ refused, changes = [], ...outcome }: Outcome): Promise<void> {
      for (const name of outcome.ignored.filter((name) => !ignoredNames.has(name))) {
        ignoredNames.add(name);
        say(`The field ${shown(name)} is ignored.`);
      }
      for (const refusal of refused.slice(0, Math.max(REFUSALS_MAX - counts.refused, 0)))
        say(`row ${refusal.row}: ${visible(refusal.problem ?? '')}${await plantInPlace(refusal)}`);
      for (const { before, after } of changes.slice(0, Math.max(CHANGES_MAX - changeCount, 0)))
        say(`${after.id}: ${plantText(before)} would become ${plantText(after)}`);
      for (const name of ['created', 'changed', 'unchanged'] as const) counts[name] += outcome[name];
      counts.unchanged += outcome.leftOut;
      counts.refused += refused.length;
      size += outcome.size;
      leftOut += outcome.leftOut;
      changeCount += changes.length;
      for (const { raw } of refused) refusedTexts.push(raw);
    },
    end(isCheck: boolean): void {
      hideProgress();
      const [seconds, sum] = [(performance.now() - start) / 1_000, records()];
      const width = Math.max(...Object.values(counts).map((count) => formatCount(count).length));
      if (isCheck) console.log('Nothing is stored yet. This is what would become of the list:');
      else console.log(`${formatCount(sum)} plants in ${seconds.toFixed(1)} s, ${formatCount(sum / seconds)}/s`);
      for (const [name, count] of Object.entries(counts))
        console.log(`${name.padEnd(9)}  ${formatCount(count).padStart(width)}`);
      if (leftOut > 0) console.log(`Left out, since their names are stored: ${formatCount(leftOut)} (--same-name add)`);
    },
  };
}

function plantText({ name, tag }: { readonly name: string; readonly tag?: string }): string {
  return shown(name) + (tag === undefined ? '' : ` (${shown(tag)})`);
}
