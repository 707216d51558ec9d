import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
} from 'kysely';

/** A connection from a pool. */
export interface PooledConnection extends DatabaseConnection {
  /** Returns it to the pool, or closes it if it is broken. */
  release(): void;
}

/**
 * Kysely's dialect of Postgres over a pool whose connections know whether they are broken: Kysely's own driver for pg
 * returns every connection to the pool as healthy. The pool is closed without Kysely, for which a statement after its own
 * end is a defect.
 */
export function kyselyDialect(acquire: () => Promise<PooledConnection>): Dialect {
  const run = (text: string) => async (connection: DatabaseConnection) => {
    await connection.executeQuery(CompiledQuery.raw(text));
  };
  return {
    createDriver: () => ({
      init: async () => {},
      acquireConnection: acquire,
      // Kysely returns the connection that `acquire` gave it.
      releaseConnection: async (connection) => (connection as PooledConnection).release(),
      beginTransaction: run('begin'),
      commitTransaction: run('commit'),
      rollbackTransaction: run('rollback'),
      destroy: async () => {},
    }),
    createAdapter: () => new PostgresAdapter(),
    createQueryCompiler: () => new PostgresQueryCompiler(),
    createIntrospector: (database) => new PostgresIntrospector(database),
  };
}
