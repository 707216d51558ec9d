import type { ImportOutcome } from '../../../../application/import-plants.ts';
import type { ListRecord, readPlantList } from '../../../../wire/lists/plant-list.ts';
import { bounded } from '../../../../wire/shown.ts';
import { errorKinds } from '../../http-errors.ts';

/* What the response to an import says. */

/**
 * Says what became of the records of a list.
 *
 * @param outcomes of the plants among them; undefined where the list was only checked
 */
export function resultOf(records: readonly ListRecord[], outcomes: readonly (ImportOutcome | undefined)[]) {
  const counts = { created: 0, changed: 0, unchanged: 0, repeated: 0, same_name: 0, id_taken: 0, id_retired: 0 };
  const ids = new Set<bigint>();
  let plants = 0;
  const refused = records.flatMap(({ line, lastLine, id, plant, refusal, isUnnumbered }) => {
    const outcome = plant && outcomes[plants++];
    const isRepeated = plant !== undefined && ids.size === ids.add(plant.id).size;
    if (outcome) counts[outcome === 'unchanged' && isRepeated ? 'repeated' : outcome]++;
    const why = refusal ?? conflictOf(id, outcome, isRepeated);
    const known = { ...(id !== undefined && { id }), ...(isUnnumbered && { unnumbered: true }) };
    return why ? [{ line, lastLine, ...known, error: errorKinds[why.code].error, message: why.message }] : [];
  });
  const { created, changed, repeated, same_name: sameName } = counts;
  return { created, changed, unchanged: counts.unchanged + repeated + sameName, repeated, sameName, refused };
}

/** Not an error, whose stack would take longer than the rest: a list may have thousands of them. */
function conflictOf(id: bigint | undefined, code: ImportOutcome | undefined, isRepeated: boolean) {
  if (id === undefined || (code !== 'id_taken' && code !== 'id_retired')) return undefined;
  return { code, message: errorKinds[code].message(id) + (isRepeated ? ': a line before has this id, too' : '') };
}

/** What the columns of CSV are. @param isWhole whether a person is to choose among the columns by all of their names */
export function layoutOf(layout: NonNullable<Awaited<ReturnType<typeof readPlantList>>['layout']>, isWhole: boolean) {
  const { columns, separator } = layout;
  if (!('header' in layout)) return { columns: [...columns], separator };
  const { header, guessed, names } = layout;
  return {
    columns: [...columns],
    separator,
    header,
    ...(guessed.length > 0 && { guessed }),
    ...(isWhole && { names: names.map(bounded) }),
  };
}
