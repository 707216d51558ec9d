import type { Store, StoreConfig, StoreOptions } from './store.ts';

/** Opens the configured database, and imports what that needs only. @throws Error, saying what to do */
export async function openStore(config: StoreConfig, options: StoreOptions): Promise<Store> {
  if (config.database.kind === 'embedded') {
    const { openSqliteStore } = await import('./sqlite-store.ts');
    return openSqliteStore({ ...config, database: config.database }, options);
  }
  const { openPostgresStore } = await import('./postgres-store.ts');
  return openPostgresStore({ ...config, database: config.database }, options);
}
