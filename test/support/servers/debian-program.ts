import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * Finds a program that Debian packages under its own name, and installs it if it is missing and this is root. If there
 * is no way to get it, says so in a line: the caller then skips its tests.
 */
export async function debianProgram(name: string): Promise<string | undefined> {
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
    try {
      if (process.getuid?.() !== 0) throw new Error('only root can install it');
      await run('apt-get', ['install', '-y', '--no-install-recommends', name], { env });
      return await find();
    } catch (error) {
      const reason = error instanceof Error ? error.message.split('\n', 1)[0] : error;
      process.stdout.write(`Skipped what needs ${name}, which is not on this machine: ${reason}\n`);
      return undefined;
    }
  }
}
