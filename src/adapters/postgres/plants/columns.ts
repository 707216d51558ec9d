import { type RawBuilder, sql } from 'kysely';
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

/** The tag as its index has it (migration 0006): in the order of its UTF-8, whatever the database's locale. */
export const TAG = sql`plants.tag collate "C"`;

/** The condition of that index, without which no statement uses it. 200 characters have 800 bytes at most. */
export const IS_INDEXED = sql<boolean>`octet_length(plants.tag) <= 800`;

/** A range of that index: with `tag = ...`, Postgres may read all plants of the tag, or all of their ids. */
export const taggedBetween = (tag: RawBuilder<unknown>, low: RawBuilder<unknown>, high: RawBuilder<unknown>) =>
  sql<boolean>`${IS_INDEXED} and (${TAG}, id) >= (${tag}, ${low}) and (${TAG}, id) <= (${tag}, ${high})`;
