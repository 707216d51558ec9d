import { sql } from 'kysely';
import type { Database } from '../database.ts';

/**
 * The privileges that the service's role still needs, as docs/postgres.md grants them. Which role that is, no database
 * knows: a role counts if it has CONNECT by name, unlike those that may connect because everybody may, or if it may
 * insert plants. The owner of the tables and superusers lack nothing.
 *
 * @returns statements for the tables' owner
 */
export async function missingGrants({ sql: database }: Database): Promise<string[]> {
  const { rows } = await sql<{ statement: string }>`
    select format('GRANT %s TO %I;', needed.privileges, role.rolname) as statement
    from pg_roles as role, lateral (values
      (1, 'SELECT, INSERT, UPDATE ON plants, webhooks', (
        select bool_and(has_table_privilege(role.oid, name, privilege))
        from unnest(array['plants', 'webhooks']) as name, unnest(array['select', 'insert', 'update']) as privilege)),
      (2, 'SELECT ON kysely_migration, change_feed', (
        select bool_and(has_table_privilege(role.oid, name, 'select'))
        from unnest(array['kysely_migration', 'change_feed']) as name)),
      (3, 'UPDATE (store, recorded) ON change_feed', (
        select bool_and(has_column_privilege(role.oid, 'change_feed', name, 'update'))
        from unnest(array['store', 'recorded']) as name))
    ) as needed (place, privileges, held)
    where role.rolcanlogin and not needed.held and (has_table_privilege(role.oid, 'plants', 'insert') or exists (
      select from pg_database, aclexplode(datacl) as granted
      where datname = current_database() and granted.privilege_type = 'CONNECT'
        and granted.grantee not in (0, datdba) and pg_has_role(role.oid, granted.grantee, 'usage')))
    order by role.rolname, needed.place
  `.execute(database);
  return rows.map(({ statement }) => statement);
}
