import { CompiledQuery, type QueryResult, type RawBuilder, sql } from 'kysely';
import type { Columns, Dialect, Session } from './dialect.ts';

/** What a connection should know of a query. */
interface QueryOptions {
  /** With a name, Postgres parses and plans it once: the plan stays, whatever the values are and however the table grows. */
  readonly name?: string | undefined;
  /** Whether SQLite may leave out its last rows once it has taken long. */
  readonly mayBeCut?: boolean | undefined;
}

export type NamedQuery = CompiledQuery & QueryOptions;

/** Rows, of which some may be left out. */
export interface PartResult<Row> extends QueryResult<Row> {
  readonly isCut?: boolean;
}

export type Parameter<Values> = <Name extends keyof Values>(name: Name) => RawBuilder<Values[Name]>;

/**
 * A statement that is compiled once for each dialect: for short ones Kysely takes longer to compile it than the database to
 * run it.
 *
 * @param build has a parameter wherever a value belongs
 * @returns a function that runs it, with lists as texts of JSON, and resolves to its rows
 */
export function statement<Values extends object, Row>(
  build: (parameter: Parameter<Values>, dialect: Dialect) => RawBuilder<Row>,
  name?: string,
): (session: Session, values: Values) => Promise<readonly Row[]> {
  const part = partStatement(build, { name });
  return async (session, values) => (await part(session, values)).rows;
}

/** The same, whose rows may be cut. */
export function partStatement<Values extends object, Row>(
  build: (parameter: Parameter<Values>, dialect: Dialect) => RawBuilder<Row>,
  options: QueryOptions = { mayBeCut: true },
): (session: Session, values: Values) => Promise<PartResult<Row>> {
  const queries = new Map<Dialect, (values: Values) => CompiledQuery<Row>>();
  return async (session, values) => {
    const { sql: tables, dialect } = session;
    const query =
      queries.get(dialect) ??
      withValues<Values, Row>((parameter) => build(parameter, dialect).compile(tables), options);
    queries.set(dialect, query);
    return tables.executeQuery(query(values));
  };
}

/** Compiles a query that values are put into. */
function withValues<Values extends object, Row>(
  compile: (parameter: Parameter<Values>) => CompiledQuery<Row>,
  options: QueryOptions,
): (values: Values) => CompiledQuery<Row> {
  const names = new Map<unknown, keyof Values>();
  const { sql: text, parameters } = compile((name) => {
    const marker = {};
    names.set(marker, name);
    return sql.val(marker) as RawBuilder<unknown> as RawBuilder<Values[typeof name]>;
  });
  const sources = parameters.map((parameter) => ({ name: names.get(parameter), constant: parameter }));
  const query: NamedQuery = { ...CompiledQuery.raw(text), ...options };
  return (values) => {
    const parameters = sources.map(({ name, constant }) => (name === undefined ? constant : encoded(values[name])));
    return { ...query, parameters } as CompiledQuery<Row>;
  };
}

/** Columns as an INSERT names them, an UPDATE sets them, and a condition compares them. */
export function columnsOf(columns: Columns) {
  const equations = Object.entries(columns).map(([name, value]) => sql`${sql.ref(name)} = ${value}`);
  return {
    names: sql.join(Object.keys(columns).map((name) => sql.ref(name))),
    values: sql.join(Object.values(columns)),
    assignments: sql.join(equations),
    areEqual: sql`(${sql.join([sql`true`, ...equations], sql` and `)})`,
  };
}

/** Lists are texts of JSON, in which integers are strings: JSON.stringify has no bigint, and its replacer is slow. */
function encoded(value: unknown): unknown {
  return Array.isArray(value) ? JSON.stringify(value.map(withoutBigint)) : value;
}

function withoutBigint(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutBigint);
  return typeof value === 'bigint' ? `${value}` : value;
}
