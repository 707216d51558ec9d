import { TOKEN } from '../application/permissions.ts';
import { type Check, rules } from './rules.ts';

/** An entry such as `anna:TOKEN`: no token has a colon. */
interface NamedToken {
  readonly token: string;
  readonly who: string | undefined;
}

/** The bearer tokens that permit everything, and those that permit reading only. */
export type TokenLists = Readonly<Record<'full' | 'reading', readonly NamedToken[]>>;

type Variable = 'ACCESS_TOKENS' | 'ACCESS_TOKENS_FILE' | 'READ_TOKENS' | 'READ_TOKENS_FILE';

const NAMED_TOKEN = new RegExp(`^(?:([a-z0-9._-]{1,64}):)?(${TOKEN})$`);

/** What the variables of tokens must be. */
export const tokens = rules.listOf(
  'one token or more, separated by commas or line ends, each of at least 16 letters, digits and -._~+/, perhaps with ' +
    'a name of up to 64 small letters, digits and ._- and a colon before it',
  (entry): NamedToken | undefined => {
    const [, who, token] = NAMED_TOKEN.exec(entry) ?? [];
    return token === undefined ? undefined : { token, who };
  },
);

export function tokenLists(
  values: Readonly<Record<Variable, readonly NamedToken[] | undefined>>,
  { problem }: Check,
): TokenLists {
  const full = [values.ACCESS_TOKENS, values.ACCESS_TOKENS_FILE].flatMap((list) => list ?? []);
  const reading = [values.READ_TOKENS, values.READ_TOKENS_FILE].flatMap((list) => list ?? []);
  const withoutNames = (list: readonly NamedToken[]) => new Set(list.map(({ token }) => token));
  const entries = (list: readonly NamedToken[]) => new Set(list.map(({ token, who }) => [who, token].join(':')));
  if (!withoutNames(full).isDisjointFrom(withoutNames(reading))) {
    problem('a token of ACCESS_TOKENS or ACCESS_TOKENS_FILE must not be in READ_TOKENS or READ_TOKENS_FILE, too');
  }
  // The log would show one of the names, whoever sent the token.
  if ([full, reading].some((list) => entries(list).size > withoutNames(list).size)) {
    problem('a token that is listed several times must have the same name each time, or none');
  }
  return { full, reading };
}
