/** What a token can permit: to read plants, to create them, and to change and delete those that exist. */
export type Permission = 'read' | 'create' | 'change';

export type Permissions = ReadonlySet<Permission>;

export const allPermissions: Permissions = new Set(['read', 'create', 'change']);
export const readOnly: Permissions = new Set(['read']);

/**
 * Finds out what a token permits; undefined if it is not accepted at all. MUST reject with PlantStoreError
 * `token_unverifiable` if that cannot be known now.
 */
export type TokenVerifier = (token: string) => Permissions | undefined | Promise<Permissions | undefined>;
