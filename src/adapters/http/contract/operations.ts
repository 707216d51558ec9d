import type { UseCases } from '../../../application/use-cases.ts';
import { changeOperations } from './change-operations.ts';
import type { Operation } from './operation.ts';
import { plantOperations } from './plant-operations.ts';

/** Every operation of the API, in the order of its documentation. */
export function operationsOn(cases: UseCases): Operation[] {
  return [...plantOperations(cases), ...changeOperations(cases)];
}
