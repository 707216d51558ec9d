import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { execute } from '../../../tooling/execute.ts';
import { eventually, eventuallySucceeds } from '../eventually.ts';
import { applyMigrations } from '../test-database.ts';
import { type Activity, chance } from './fire.ts';

/** Dumps that a restore chooses from. */
const KEPT = 3;

/** By how many transactions the server of a dump may be ahead of the one that gets it. */
const AHEAD = 1_000_000_000n;

/**
 * Restores an earlier state of the plants, of the table change_feed, or of both and of the endpoints of webhooks, step by step as pg_restore --clean does,
 * and repairs it after a while. npm's Postgres brings no pg_restore, and one server has one count of transactions: that a
 * dump comes from another server is made by adding to them.
 *
 * @param written how many writes there have been
 */
export function restorer(url: string, written: () => number, count: { restores: number }): Activity {
  const dumps: string[] = [];
  let dumped = 0;

  async function dump(): Promise<void> {
    const name = `dump_${dumped++}`;
    await execute(
      url,
      `begin isolation level repeatable read; create schema ${name};
        create table ${name}.plants as select * from plants;
        create table ${name}.change_feed as select * from change_feed;
        create table ${name}.webhooks as select * from webhooks; commit`,
    );
    dumps.push(name);
    if (dumps.length > KEPT) await execute(url, `drop schema ${dumps.shift()} cascade`);
  }

  /** Each statement is a transaction, and others see the table as it is between them. */
  async function inSteps(...statements: readonly string[]): Promise<void> {
    for (const statement of statements) {
      await execute(url, statement);
      if (chance(50)) await delay(randomInt(50));
    }
  }

  async function restorePlants(name: string | undefined, ahead: bigint): Promise<void> {
    const [feed] = await execute(url, `select shift from ${name}.change_feed`);
    await inSteps(
      'drop index plants_by_change',
      'drop table plants',
      `create table plants (id bigint primary key, name text not null, tag text, deleted timestamptz,
        changed bigint not null default (pg_current_xact_id()::text::bigint + ${feed?.shift}))`,
      `insert into plants select id, name, tag, deleted, changed + ${ahead} from ${name}.plants on conflict do nothing`,
      'create index plants_by_tag on plants (hashtextextended(tag, 0), id) where tag is not null',
      'create index plants_by_change on plants (changed, id)',
    );
  }

  async function restoreFeed(name: string | undefined, ahead: bigint): Promise<void> {
    await inSteps(
      'delete from change_feed',
      `insert into change_feed select single, store, shift, purged_changed + ${ahead}, purged_id, recorded
        from ${name}.change_feed`,
    );
  }

  /** A dump has the table by name. */
  const restoreWebhooks = (name: string | undefined) =>
    inSteps(
      'delete from webhooks',
      `insert into webhooks (endpoint, plants, changed, id, holder, expires)
        select endpoint, 'plants'::regclass, changed + ${AHEAD}, id, holder, expires from ${name}.webhooks`,
    );

  async function restoreBoth(): Promise<void> {
    const last = dumps.at(-1);
    await restoreFeed(last, AHEAD);
    await restorePlants(last, AHEAD);
    await restoreWebhooks(last);
  }

  /** In turn, so that one table alone comes from a time before the transactions were raised. */
  const kinds = [restoreBoth, () => restoreFeed(dumps[0], 0n), restoreBoth, () => restorePlants(dumps[0], 0n)];

  return async (isOver) => {
    const writes = async (more: number) => {
      const enough = written() + more;
      await eventually(() => isOver() || written() >= enough);
    };
    await writes(100);
    await dump();
    await writes(50);
    if (isOver()) return;
    await kinds[count.restores % kinds.length]?.();
    await writes(20);
    // Its connection may be ended, too.
    await eventuallySucceeds(() => applyMigrations(url));
    count.restores++;
  };
}
