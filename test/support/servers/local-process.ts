import { execFileSync, spawn } from 'node:child_process';
import { existsSync, openSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { childrenOf, commandOf, parentOf } from '../../../tooling/linux-process.ts';
import { eventually } from '../eventually.ts';

/* Servers on this machine that the tests did not start, found by the port at which they listen (man 5 proc). */

/** Signals a process, which may have ended by itself, as idle backends do. @returns false if it has */
export function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

/** Stops processes. @returns what lets them go on */
export function freeze(pids: readonly number[]): () => void {
  for (const pid of pids) signal(pid, 'SIGSTOP');
  return () => {
    for (const pid of pids) signal(pid, 'SIGCONT');
  };
}

/** A process and all that it has started. */
export interface LocalProcess {
  /** Stops all of it where it is: connections stay open, and nothing responds. @returns what lets it go on */
  freeze(): () => void;
  /** Ends all of it at once, as a machine that dies would, and waits for that. */
  kill(): Promise<void>;
  /** Runs its command again, as a supervisor would, in the same place and with the same log. */
  start(): void;
}

/** Several processes as one that dies. */
export function together(...all: readonly LocalProcess[]): Pick<LocalProcess, 'freeze' | 'kill'> {
  return {
    freeze() {
      const resumes = all.map((one) => one.freeze());
      return () => {
        for (const resume of resumes) resume();
      };
    },
    async kill() {
      await Promise.all(all.map((one) => one.kill()));
    },
  };
}

/** The process that listens at a port of the loopback interface. @throws Error if there is none, or root is needed to see it */
export function listenerAt(port: number): LocalProcess {
  const pid = pidOfListener(port);
  const folder = `/proc/${pid}`;
  const [command = '', ...args] = commandOf(pid);
  const environment = readFileSync(`${folder}/environ`, 'utf8').split('\0').slice(0, -1);
  const env = Object.fromEntries(environment.map((one) => /^([^=]*)=(.*)$/s.exec(one)?.slice(1) ?? []));
  const { uid, gid } = statSync(folder);
  const cwd = readlinkSync(`${folder}/cwd`);
  const log = readlinkSync(`${folder}/fd/1`);
  return {
    freeze() {
      // The parent first: it would notice that its children stand still, or start more of them.
      return freeze(withDescendants(pidOfListener(port)));
    },
    async kill() {
      const family = withDescendants(pidOfListener(port));
      for (const one of family) signal(one, 'SIGKILL');
      // Also until what has ended is gone: Postgres does not start while a process has the number in its lock file.
      await eventually(() => !family.some((one) => existsSync(`/proc/${one}`)));
    },
    start() {
      const output = log.startsWith('/') ? openSync(log, 'a') : 'ignore';
      spawn(command, args, { uid, gid, cwd, env, detached: true, stdio: ['ignore', output, output] }).unref();
    },
  };
}

function pidOfListener(port: number): number {
  const listed = execFileSync('ss', ['-Hltnp', `sport = :${port}`], { encoding: 'utf8' });
  const pids = [...listed.matchAll(/pid=(\d+)/g)].map(([, pid]) => Number(pid));
  // Workers inherit the socket from the process that listens.
  const oldest = pids.find((pid) => !pids.includes(parentOf(pid)));
  if (oldest === undefined) throw new Error(`no process of this machine listens at port ${port}`);
  return oldest;
}

function withDescendants(pid: number): number[] {
  return [pid, ...childrenOf(pid).flatMap(withDescendants)];
}
