import { sql } from 'kysely';
import type { NewPlant } from '../../../domain/plant.ts';

/** A plant or a deleted one. */
export interface PlantRow {
  readonly id: bigint;
  readonly name: string;
  readonly tag: string | null;
  readonly is_deleted: boolean;
}

/** What a row stands for. */
export function storedIn(row: PlantRow): NewPlant | 'deleted' {
  return row.is_deleted ? 'deleted' : plantIn(row);
}

export function plantIn({ id, name, tag }: Omit<PlantRow, 'is_deleted'>): NewPlant {
  return tag === null ? { id, name } : { id, name, tag };
}

export function idsOf(rows: readonly { readonly id: bigint }[]): Set<bigint> {
  return new Set(rows.map(({ id }) => id));
}

/**
 * A condition that fails on a standby, which may be behind, and has no current position in the WAL. Evaluated once in a
 * statement, even without a row.
 */
export const FAIL_ON_STANDBY = sql<boolean>`(select pg_current_wal_lsn() is not null)`;

/** Bytes of text. */
export const SIZE = {
  /** Of a row. */
  ofRow: sql<number>`octet_length(plants.name) + coalesce(octet_length(plants.tag), 0)`,
  /** In the result of one statement, unless a single plant has more. */
  read: 1024 ** 2,
  /** More than a plant can have. */
  any: 2 ** 31 - 1,
};
