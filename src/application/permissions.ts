/** What a token can permit: to read plants, to create them, and to change and delete those that exist. */
export type Permission = 'read' | 'create' | 'change';

export type Permissions = ReadonlySet<Permission>;

export const allPermissions: Permissions = new Set(['read', 'create', 'change']);
export const readOnly: Permissions = new Set(['read']);

/** What a token permits, and whom it names as its sender, for the log. */
export interface Access {
  readonly permissions: Permissions;
  /** The name of the token, or the subject for whom it was signed; undefined if it has none. */
  readonly who?: string | undefined;
  /** The client to which a signed token was issued. */
  readonly clientId?: string | undefined;
}

/** The pattern of a token: its characters are those of RFC 6750 section 2.1, and 16 random ones cannot be guessed. */
export const TOKEN = '[A-Za-z0-9\\-._~+/]{16,}=*';

/**
 * Determines what a token permits; undefined if it is not accepted. MUST reject with PlantStoreError `token_unverifiable` if
 * that cannot be determined now.
 */
export type TokenVerifier = (token: string) => Access | undefined | Promise<Access | undefined>;
