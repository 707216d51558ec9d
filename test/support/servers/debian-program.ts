import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * Finds a program that Debian packages under its own name, and installs it if it is missing and this is root.
 *
 * @throws Error if there is no way to get it: a test that needs it then fails
 */
export async function debianProgram(name: string): Promise<string> {
  const env = {
    ...process.env,
    // Not in everybody's PATH, but where Debian keeps servers.
    PATH: `${process.env.PATH}:/usr/sbin`,
    DEBIAN_FRONTEND: 'noninteractive',
    // Where systemd runs, a package would start its service.
    SYSTEMD_OFFLINE: '1',
  };
  const find = async () => (await run('sh', ['-c', `command -v ${name}`], { env })).stdout.trim();
  try {
    return await find();
  } catch {
    if (process.getuid?.() !== 0) throw new Error(`${name} is not on this machine, and only root can install it`);
    await run('apt-get', ['install', '-y', '--no-install-recommends', name], { env });
    return find();
  }
}
