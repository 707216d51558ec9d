import { PlantStoreError } from '../../domain/errors.ts';
import type { Failure } from './dialect.ts';

/** Translates a failure of the database into the rejection that the port promises. */
export function toPortError(error: unknown, { means, isDiskFull }: Pick<Failure, 'means' | 'isDiskFull'>): unknown {
  if (error instanceof PlantStoreError || means === 'defect' || means === 'refused') return error;
  const why = isDiskFull ? 'has no room left, so its operators must make some' : 'is unavailable';
  return new PlantStoreError('store_unavailable', `the store ${why}`, { cause: error });
}

/** The rejection that the port promises, for a reason that is no error of the database's. */
export function unavailable(reason: string): PlantStoreError {
  return new PlantStoreError('store_unavailable', 'the store is unavailable', { cause: new Error(reason) });
}
