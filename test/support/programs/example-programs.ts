import { createServer, type RequestListener } from 'node:http';
import { expect } from '@jest/globals';
import { TOKEN } from '../api-server.ts';
import { listening } from '../servers/local-server.ts';
import { type Outcome, projectFile, run } from '../service-process.ts';

/* The programs in examples. They need curl and python3, which every Debian has. */

/** One of them, in its language. */
export interface Example {
  readonly language: string;
  readonly program: string;
  /** In the folder of examples. */
  readonly file: string;
}

/** A program that the examples have in each of their languages, without a suffix. */
export const inEachLanguage = (name: string): Example[] => [
  { language: 'TypeScript', program: process.execPath, file: `client/${name}.ts` },
  { language: 'Python', program: 'python3', file: `${name}.py` },
  { language: 'curl', program: 'sh', file: `${name}.sh` },
];

/** What they find the service by. @param token none if it is null */
export const addressed = (url: string, token: string | null = TOKEN): Record<string, string> => ({
  PLANT_STORE_URL: url,
  ...(token !== null && { PLANT_STORE_TOKEN: token }),
});

/** Runs one to its end, with the address and PATH as its whole environment. */
export function runExample(
  { program, file }: Example,
  args: readonly unknown[],
  ...service: Parameters<typeof addressed>
): Promise<Outcome> {
  return run(program, [projectFile(`examples/${file}`), ...args.map(String)], addressed(...service));
}

/** How it ends if the service reports an error. */
export const said = (error: number, remedy: string) =>
  failed(`^${error}: \\S.* \\(${remedy}; request [\\w-]{36}\\)\\n$`);

export const saidUnreachable = (url: string) =>
  failed(`^cannot reach ${url} \\(.+\\): is the service running there\\?\n$`);

export const saidNotPlantStore = (url: string) =>
  failed(`^${url} does not respond as Plant Store does: is that its address\\?\n$`);

export const saidToken = failed(/^PLANT_STORE_TOKEN must be .*\n$/);

export const saidUsage = failed(/^usage: /, 2);

function failed(line: string | RegExp, code = 1) {
  return { code, stdout: '', stderr: expect.stringMatching(line) };
}

/** What is not the service may send: the name of it, the status, the media type and the body. */
export const otherResponses: [who: string, status: number, type: string, body: string][] = [
  ['a proxy in front of a service that is down', 502, 'text/html', '<html>\n<h1>502 Bad Gateway</h1>\n</html>\n'],
  ['another service', 404, 'application/json', '{"error":"not found","message":"it is not here"}'],
  ['a web site', 200, 'text/html', '<html>\n<h1>Welcome</h1>\n</html>\n'],
  ['nothing', 502, 'application/json', ''],
];

/** Serves one of these to everybody, until the end of the test. */
export function withResponse<Result>(
  [, status, type, body]: (typeof otherResponses)[number],
  work: (url: string) => Promise<Result>,
): Promise<Result> {
  return withServer((request, response) => {
    request.resume();
    response.writeHead(status, { 'Content-Type': type, 'Content-Length': body.length }).end(body);
  }, work);
}

/** Serves HTTP until the end of the test. */
export async function withServer<Result>(
  listener: RequestListener,
  work: (url: string) => Promise<Result>,
): Promise<Result> {
  return work(`http://127.0.0.1:${await listening(createServer(listener))}`);
}
