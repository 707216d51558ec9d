import { readFileSync, writeFileSync } from 'node:fs';

/* What processes use, from /proc (man 5 proc). Where there is none, as on macOS, every figure is NaN. */

/** /proc counts time in ticks of this length (man 7 time, USER_HZ). */
const SECONDS_PER_TICK = 0.01;

interface CpuTime {
  /** In seconds. */
  readonly own: number;
  /** Of the children that it has waited for, in seconds. */
  readonly endedChildren: number;
}

export function cpuTime(pid: number): CpuTime {
  const stat = read(`/proc/${pid}/stat`);
  // The name in parentheses may contain anything. Third after it is the parent: see parentOf.
  const [user = Number.NaN, system = 0, endedUser = 0, endedSystem = 0] = afterName(stat).slice(11, 15).map(Number);
  return { own: (user + system) * SECONDS_PER_TICK, endedChildren: (endedUser + endedSystem) * SECONDS_PER_TICK };
}

/** CPU time in seconds of a process and all its children, living or ended. */
export function cpuTimeOfFamily(pid: number): number {
  const { own, endedChildren } = cpuTime(pid);
  // One that has ended since the list was read is left out: its parent's figure has it next time.
  const times = childrenOf(pid)
    .map((child) => cpuTime(child).own)
    .filter((time) => !Number.isNaN(time));
  return times.reduce((sum, time) => sum + time, own + endedChildren);
}

export function childrenOf(pid: number): number[] {
  const children = read(`/proc/${pid}/task/${pid}/children`);
  return children.split(' ').filter(Boolean).map(Number);
}

/** The command and its arguments. */
export function commandOf(pid: number): string[] {
  return read(`/proc/${pid}/cmdline`).split('\0').slice(0, -1);
}

export function parentOf(pid: number): number {
  return Number(afterName(read(`/proc/${pid}/stat`))[1]);
}

/** Resident memory in bytes: now, or the most since the process started or the peak was reset. */
export function residentMemory(pid: number, which: 'now' | 'peak'): number {
  const field = which === 'now' ? 'VmRSS' : 'VmHWM';
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(read(`/proc/${pid}/status`))?.[1]) * 1024;
}

export function resetPeakMemory(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
  } catch {
    // Without it the peak is that of the process's whole life.
  }
}

/** The fields from the third one on; the second is the command's name in parentheses, which may contain anything. */
function afterName(stat: string): string[] {
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
