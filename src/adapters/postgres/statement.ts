import { CompiledQuery, type RawBuilder, sql } from 'kysely';

/** Stands in a statement for a value that differs from run to run. */
export type Parameters<Values> = <Name extends keyof Values>(name: Name) => RawBuilder<Values[Name]>;

/**
 * Compiles a statement once: for short ones Kysely takes longer to compile it than Postgres to run it.
 *
 * @param build builds and compiles it, with a parameter wherever a value belongs
 * @returns a function that puts values in
 */
export function statement<Values extends object, Row>(
  build: (parameter: Parameters<Values>) => CompiledQuery<Row>,
): (values: Values) => CompiledQuery<Row> {
  const names = new Map<unknown, keyof Values>();
  const { sql: text, parameters } = build((name) => {
    const marker = {};
    names.set(marker, name);
    return sql.val(marker) as RawBuilder<unknown> as RawBuilder<Values[typeof name]>;
  });
  const sources = parameters.map((parameter) => ({ name: names.get(parameter), constant: parameter }));
  return (values) =>
    CompiledQuery.raw(
      text,
      sources.map(({ name, constant }) => (name === undefined ? constant : values[name])),
    ) as CompiledQuery<Row>;
}

/**
 * Compiles a statement over a list of records once for each length of the list.
 *
 * @param build builds and compiles it; its parameters are the values of the records, in their order
 */
export function statementOfList<Values extends readonly unknown[], Row>(
  build: (list: readonly Values[]) => CompiledQuery<Row>,
): (list: readonly Values[]) => CompiledQuery<Row> {
  const texts: string[] = [];
  return (list) => {
    texts[list.length] ??= build(list).sql;
    return CompiledQuery.raw(texts[list.length] as string, list.flat()) as CompiledQuery<Row>;
  };
}

/** Values as the text of an array of Postgres, which no driver has to encode. */
export function arrayOf(values: readonly (bigint | number | boolean | string | null)[]): string {
  return `{${values.map((value) => (typeof value === 'string' ? quoted(value) : `${value}`)).join()}}`;
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}
