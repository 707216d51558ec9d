import { CompiledQuery, type RawBuilder, sql } from 'kysely';

/** A query that a connection parses and plans once, if it has a name. */
export interface NamedQuery extends CompiledQuery {
  readonly name?: string | undefined;
}

/**
 * Compiles a statement once: for short ones Kysely takes longer to compile it than Postgres to run it.
 *
 * @param build builds and compiles it, with a parameter wherever a value belongs
 * @param name for connections to prepare it. Its plan then lasts, whatever the values are and however the table grows
 * @returns a function that puts values in, and lists as arrays of Postgres
 */
export function statement<Values extends object, Row>(
  build: (parameter: <Name extends keyof Values>(name: Name) => RawBuilder<Values[Name]>) => CompiledQuery<Row>,
  name?: string,
): (values: Values) => CompiledQuery<Row> {
  const names = new Map<unknown, keyof Values>();
  const { sql: text, parameters } = build((name) => {
    const marker = {};
    names.set(marker, name);
    return sql.val(marker) as RawBuilder<unknown> as RawBuilder<Values[typeof name]>;
  });
  const sources = parameters.map((parameter) => ({ name: names.get(parameter), constant: parameter }));
  return (values) => {
    const parameters = sources.map(({ name, constant }) => (name === undefined ? constant : encoded(values[name])));
    const query: NamedQuery = { ...CompiledQuery.raw(text, parameters), name };
    return query as CompiledQuery<Row>;
  };
}

/** A list of numbers, truth values, texts and nulls as the text of an array, which the driver has not to encode. */
function encoded(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  const quoted = (text: string) => `"${text.replace(/["\\]/g, '\\$&')}"`;
  return `{${value.map((one) => (typeof one === 'string' ? quoted(one) : `${one}`)).join()}}`;
}
