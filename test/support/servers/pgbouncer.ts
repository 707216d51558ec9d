import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../../tooling/free-port.ts';
import { connectTo } from '../http-bytes.ts';
import { type NodeProcess, startAsNobody, temporaryFolder } from '../service-process.ts';

/**
 * Starts PgBouncer in transaction mode before the Postgres server of the address, until the end of the test.
 *
 * @param more lines of its configuration
 */
export async function startPgBouncer(serverUrl: string, more: readonly string[] = []) {
  const server = new URL(serverUrl);
  const port = await freePort();
  const folder = await temporaryFolder();
  await chmod(folder, 0o755);
  const users = join(folder, 'users.txt');
  await writeFile(users, `"${server.username}" "${decodeURIComponent(server.password)}"\n`);
  const file = join(folder, 'pgbouncer.ini');
  const settings = [
    '[databases]',
    `* = host=${server.hostname} port=${server.port}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'pool_mode = transaction',
    'max_client_conn = 1000',
    'default_pool_size = 10',
    `auth_type = ${server.password === '' ? 'trust' : 'scram-sha-256'}`,
    `auth_file = ${users}`,
    ...more,
  ];
  await writeFile(file, `${settings.join('\n')}\n`);

  let running: NodeProcess;
  async function start(): Promise<void> {
    running = startAsNobody('pgbouncer', [file]);
    await running.eventually(accepts);
  }
  function accepts(): Promise<boolean> {
    const socket = connectTo(`http://127.0.0.1:${port}`);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    socket.on('connect', () => resolve(true)).on('close', () => resolve(false));
    return promise.finally(() => socket.destroy());
  }

  await start();
  return {
    /** Of the server's own database as seen through it. */
    url: Object.assign(new URL(serverUrl), { host: `127.0.0.1:${port}` }).href,
    /** How many connections clients have opened since its last start. */
    logins: () => running.stderr().match(/ login attempt: /g)?.length ?? 0,
    /** Ends it with all its connections and starts it again, at the same address. */
    async restart() {
      running.kill('SIGTERM');
      await running.exited;
      await start();
    },
  };
}
