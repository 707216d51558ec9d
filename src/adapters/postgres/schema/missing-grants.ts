import { sql } from 'kysely';
import type { Database } from '../database.ts';

/**
 * Which role is the service's, no database knows: one that has CONNECT by name, unlike those that may connect because
 * everybody may, or that may insert plants.
 */
const MAY_BE_THE_SERVICE = sql`role.rolcanlogin and (has_table_privilege(role.oid, 'plants', 'insert') or exists (
  select from pg_database, aclexplode(datacl) as granted
  where datname = current_database() and granted.privilege_type = 'CONNECT'
    and granted.grantee not in (0, datdba) and pg_has_role(role.oid, granted.grantee, 'usage')))`;

/**
 * The privileges that roles still need for the service, as docs/postgres.md grants them, on the tables that are there. The
 * owner of the tables and superusers lack nothing.
 *
 * @param isWanted of which roles
 * @param written the tables to which the service adds rows
 * @returns statements for the tables' owner
 */
export async function missingGrants(
  { sql: database }: Database,
  isWanted = MAY_BE_THE_SERVICE,
  written = 'plants, webhooks',
): Promise<string[]> {
  const { rows } = await sql<{ statement: string }>`
    select format('GRANT %s TO %I;', needed.privileges, role.rolname) as statement
    from pg_roles as role, lateral (values
      (1, 'SELECT, INSERT, UPDATE ON ' || ${written}, (
        select bool_and(has_table_privilege(role.oid, to_regclass(name), privilege))
        from unnest(string_to_array(${written}, ', ')) as name, unnest(array['select', 'insert', 'update']) as privilege)),
      (2, 'SELECT ON kysely_migration, change_feed', (
        select bool_and(has_table_privilege(role.oid, to_regclass(name), 'select'))
        from unnest(array['kysely_migration', 'change_feed']) as name)),
      (3, 'UPDATE (store, recorded) ON change_feed', (
        select bool_and(has_column_privilege(role.oid, to_regclass('change_feed'), name, 'update'))
        from unnest(array['store', 'recorded']) as name))
    ) as needed (place, privileges, held)
    where not needed.held and ${isWanted} order by role.rolname, needed.place
  `.execute(database);
  return rows.map(({ statement }) => statement);
}
