import { median } from '../tooling/statistics.ts';
import type { ContenderKey } from './contenders.ts';
import type { Figures } from './measure.ts';
import { type Run, ratios } from './runs.ts';

/** Something that the bench is to show. */
export interface Claim {
  readonly claim: string;
  /** The median over the rounds, and the extremes, since a noisy machine can be told by them. */
  readonly measured: number;
  readonly least: number;
  readonly most: number;
  readonly holds: boolean;
}

/** The claims about those numbers of connections that were measured. */
export function checkClaims(runs: readonly Run[]): Claim[] {
  const at = (connections: number, figure: keyof Figures, over: ContenderKey, under: ContenderKey) =>
    ratios(runs, figure, [over, connections], [under, connections]);
  const kept = (key: ContenderKey) => ratios(runs, 'requestsPerSecond', [key, 512], [key, 64]);
  const bareKept = kept('bare');
  const relativelyKept = kept('ours').map((ratio, round) => ratio / (bareKept[round] ?? Number.NaN));
  return [
    atMost(
      0.33,
      '64 connections: CPU of service and Postgres per create ÷ Fastify + pg',
      at(64, 'cpu', 'ours', 'fastify'),
    ),
    atMost(2, '64 connections: CPU of the service alone ÷ bare node:http', at(64, 'serverCpu', 'ours', 'bare')),
    atLeast(2.2, '64 connections: throughput ÷ Fastify + pg', at(64, 'requestsPerSecond', 'ours', 'fastify')),
    atLeast(0.8, 'throughput at 512 connections ÷ at 64, relative to bare node:http', relativelyKept),
    atMost(1, '512 connections: p99 ÷ Fastify + pg', at(512, 'p99', 'ours', 'fastify')),
    atMost(1.15, '1 connection: p50 ÷ Fastify + pg', at(1, 'p50', 'ours', 'fastify')),
    atMost(2, '1 connection: p99 ÷ Fastify + pg', at(1, 'p99', 'ours', 'fastify')),
    atMost(1.1, '1 connection: p50 ÷ batches of one', at(1, 'p50', 'ours', 'single')),
  ].filter(({ measured }) => !Number.isNaN(measured));
}

/** @param rounds what was measured, once in each round */
export function atLeast(limit: number, what: string, rounds: readonly number[]): Claim {
  return { claim: `${what} ≥ ${limit}`, ...spread(rounds), holds: median(rounds) >= limit };
}

/** @param rounds what was measured, once in each round */
export function atMost(limit: number, what: string, rounds: readonly number[]): Claim {
  return { claim: `${what} ≤ ${limit}`, ...spread(rounds), holds: median(rounds) <= limit };
}

function spread(rounds: readonly number[]) {
  return { measured: median(rounds), least: Math.min(...rounds), most: Math.max(...rounds) };
}
