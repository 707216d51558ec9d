import { type ExpressionBuilder, sql } from 'kysely';
import type { NewPlant } from '../../../domain/plant.ts';
import type { Tables } from '../database.ts';

/** A plant or a deleted one; without its texts if they are larger than the statement allows. */
export interface PlantRow {
  readonly id: bigint;
  readonly name: string | null;
  readonly tag: string | null;
  readonly is_deleted: boolean;
}

/** What a row that has its texts stands for. */
export function storedIn({ id, name, tag, is_deleted }: PlantRow): NewPlant | 'deleted' {
  return is_deleted ? 'deleted' : { id, name: name ?? '', ...(tag !== null && { tag }) };
}

export const isDeleted = ({ eb }: { readonly eb: ExpressionBuilder<Tables, 'plants'> }) =>
  eb('deleted', 'is not', null).$castTo<boolean>().as('is_deleted');

/**
 * A condition that fails on a standby, which may be behind, and has no current position in the WAL. Evaluated once in a
 * statement, even without a row.
 */
export const FAIL_ON_STANDBY = sql<boolean>`(select pg_current_wal_lsn() is not null)`;

/** UTF-16 units of text in one statement that writes: enough to fill a batch, and Postgres parses it quickly. */
export const WRITTEN_TEXT = 1_000_000;

/** The UTF-16 units of the texts of a plant. */
export function textLength({ name, tag = '' }: NewPlant): number {
  return name.length + tag.length;
}

/** Octets of text in the result of one statement, unless a single plant has more. */
export const READ_TEXT = 1024 ** 2;

/** The octets of the texts of a row. */
export const SIZE = sql<number>`octet_length(name) + coalesce(octet_length(tag), 0)`;

/** The record of a plant as JSON, octet for octet as src/wire writes it. `concat` takes more CPU time. */
export const PLANT_JSON = sql<string>`'{"id":' || id || ',"name":' || to_json(name) ||
  case when tag is null then '}' else ',"tag":' || to_json(tag) || '}' end`;
