import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { namedToken } from '../adapters/tokens/static-tokens.ts';
import { readConfig } from '../config/config.ts';
import { checked } from '../config/config-reader.ts';
import { rules } from '../config/config-rules.ts';
import { environment } from '../config/environment.ts';

const ADDRESS = {
  url: { name: 'PLANT_STORE_URL', rule: rules.httpUrl, fallback: undefined },
  token: { name: 'PLANT_STORE_TOKEN', rule: rules.bearerToken, fallback: undefined },
};

/** The service of PLANT_STORE_URL, or else that of this folder, whose token goes nowhere else. @throws Error if none is known */
export function serviceAddress(): { readonly url: string; readonly token: string } {
  const { url, token } = checked(environment(), ({ read }) => read(ADDRESS));
  if (url && token) return { url: url.replace(/\/$/, ''), token };
  const advice = 'set PLANT_STORE_URL and PLANT_STORE_TOKEN';
  if (url || token) throw new Error(`${advice}, or neither of them`);
  const { api, tokens, ownTokenFolder } = readConfig();
  const host = { '0.0.0.0': '127.0.0.1', '::': '::1' }[api.host] ?? api.host;
  const file = ownTokenFolder === undefined ? '' : join(ownTokenFolder, 'access-token');
  const [configured] = tokens.full.map(namedToken);
  const own = configured?.token ?? (existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined);
  if (!own) throw new Error(`this folder has no token that may create: start the service, or ${advice}`);
  if (api.port === 0) throw new Error(`PORT is 0, so only the service knows where it listens: ${advice}`);
  return { url: `http://${host.includes(':') ? `[${host}]` : host}:${api.port}`, token: own };
}
