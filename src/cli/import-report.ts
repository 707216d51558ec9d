import { shown, visible } from '../formats/shown.ts';
import type { Outcome, Refused } from '../lists/batches.js';
import { folded } from '../lists/records.js';
import { say } from '../runtime/say.ts';
import { formatCount } from './progress.ts';
import type { Send } from './remote-service.ts';

/** Refusals, and plants that would change, that are shown. */
const [SHOWN, CHANGES] = [10, 20];

/** Counts what becomes of a list, and says what is ignored and refused of it, and what would change. */
export function importReport(send: Send) {
  const counts = { created: 0, changed: 0, unchanged: 0, refused: 0 };
  const total = { records: 0, size: 0, leftOut: 0, changes: 0 };
  const [ignored, start] = [new Set<string>(), performance.now()];

  /** What has the id of a refused plant, if the token may read it. */
  async function other({ id, error, name = '' }: Refused): Promise<string> {
    const text = error === 40009 ? await send(`/plants/${id}`, /^\{"id":/).catch(() => undefined) : undefined;
    if (text === undefined) return '';
    const stored: { readonly name: string; readonly tag?: string } = JSON.parse(text);
    const isAlike = name !== stored.name && folded(name) === folded(stored.name);
    return `, ${plantText(stored)}${isAlike ? ', whose name differs only in spaces' : ''}`;
  }

  return {
    counts,
    total,
    async add(
      { refused, changes = [], ...outcome }: Outcome,
      { leftOut, size }: { readonly leftOut: number; readonly size: number },
    ): Promise<void> {
      for (const name of new Set(outcome.ignored).difference(ignored)) say(`The field ${shown(name)} is ignored.`);
      for (const name of outcome.ignored) ignored.add(name);
      for (const refusal of refused.slice(0, Math.max(SHOWN - counts.refused, 0)))
        say(`row ${refusal.row}: ${visible(refusal.problem ?? '')}${await other(refusal)}`);
      for (const { before, after } of changes.slice(0, Math.max(CHANGES - total.changes, 0)))
        say(`${after.id}: ${plantText(before)} would become ${plantText(after)}`);
      for (const name of ['created', 'changed', 'unchanged'] as const) counts[name] += outcome[name];
      counts.unchanged += leftOut;
      counts.refused += refused.length;
      total.records += outcome.records;
      total.size += size;
      total.leftOut += leftOut;
      total.changes += changes.length;
    },
    /** @param isCheck whether nothing is stored */
    print(isCheck: boolean): void {
      const [{ records, leftOut }, seconds] = [total, (performance.now() - start) / 1_000];
      const width = Math.max(...Object.values(counts).map((count) => formatCount(count).length));
      if (isCheck) console.log('Nothing is stored yet. This is what would become of the list:');
      else
        console.log(`${formatCount(records)} plants in ${seconds.toFixed(1)} s, ${formatCount(records / seconds)}/s`);
      for (const [name, count] of Object.entries(counts))
        console.log(`${name.padEnd(9)}  ${formatCount(count).padStart(width)}`);
      if (leftOut > 0) console.log(`Left out, since their names are stored: ${formatCount(leftOut)} (--same-name add)`);
    },
  };
}

function plantText({ name, tag }: { readonly name: string; readonly tag?: string }): string {
  return shown(name) + (tag === undefined ? '' : ` (${shown(tag)})`);
}
