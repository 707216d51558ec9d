import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
} from 'kysely';
import type { SupervisedClient } from './supervised-client.ts';

/**
 * Kysely's own driver for pg returns every connection to the pool as healthy. The pool is closed without Kysely, for which a
 * statement after its own end is a defect.
 */
export function kyselyDialect(acquire: () => Promise<SupervisedClient>): Dialect {
  const run = (text: string) => async (connection: DatabaseConnection) => {
    await connection.executeQuery(CompiledQuery.raw(text));
  };
  return {
    createDriver: () => ({
      init: async () => {},
      acquireConnection: acquire,
      // Kysely returns the connection that `acquire` gave it.
      releaseConnection: async (connection) => (connection as SupervisedClient).release(),
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
