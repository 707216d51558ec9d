import type { CompiledQuery } from 'kysely';
import { withValues } from '../sql/statement.ts';

/** As the statements of `sql`, for what is not among them: a function that puts values in, and lists as arrays of Postgres. */
export function statement<Values extends object, Row>(
  build: Parameters<typeof withValues<Values, Row>>[0],
  name?: string,
): (values: Values) => CompiledQuery<Row> {
  return withValues(build, { name }, encoded);
}

/** A list of numbers, truth values, texts and nulls as the text of an array, which the driver has not to encode. */
function encoded(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  const quoted = (text: string) => `"${text.replace(/["\\]/g, '\\$&')}"`;
  return `{${value.map((one) => (typeof one === 'string' ? quoted(one) : `${one}`)).join()}}`;
}
