/* Small edits of src, each with the sentence that it breaks. Whoever changes such a line repairs its mutant. */

type Mutant = readonly [breaks: string, from: string, to: string];

/** By their files in src. */
export const MUTANTS: Readonly<Record<string, readonly Mutant[]>> = {
  'adapters/sqlite/file/driver.ts': [
    ['After a sync that has failed, nothing is written until the next start.', 'onLostSync(error);', ''],
    [
      'A write of a transaction that is not committed is refused.',
      "prepare('commit').all();",
      "try { prepare('commit').all(); } catch {}",
    ],
  ],
  'adapters/sqlite/file/database.ts': [
    ['What may be lost is written again before anything else.', 'if (lostSync !== undefined) throw lostSync;', ''],
  ],
  'adapters/sqlite/dialect.ts': [
    ['A purge frees no number of a change.', '1 + max(purged_changed, coalesce(', '1 + max(0, coalesce('],
    [
      'Each change of a plant has a number of its own.',
      'changedByUpdate: sql`(select',
      'changedByUpdate: sql`plants.changed + 0 * (select',
    ],
  ],
  'adapters/sql/changes/purge.ts': [['Followers that may miss a deletion start again.', 'await note(', 'void (']],
  'adapters/sql/changes/reader.ts': [
    ['A follower reads nothing that an open transaction may still precede.', ' and changed < $', ' and 0 < $'],
  ],
  'adapters/sqlite/backup.ts': [['A restore ends all positions of followers.', 'copy.exec(RENEW_LOG)', '']],
  'adapters/sql/webhooks/positions.ts': [
    ['The lease of a killed process expires.', 'holder is null or expires <', 'holder is null or 1 >'],
    ['One service at a time delivers to an endpoint.', 'holder is null or expires <', "holder <> '' or expires <"],
  ],
  'application/webhooks/deliver-to-endpoint.ts': [
    ['The position is behind what is delivered.', 'acknowledged: start + gap,', 'acknowledged: start + wave.length,'],
    ['What has failed is sent again.', 'if (gap >= 0) return', 'if (gap > 0) return'],
  ],
  'application/webhooks/deliver-webhooks.ts': [
    ['A lease goes on as long as its holder lives.', 'task.until = until;', '{}'],
    ['No request begins that may outlast its lease.', '&& performance.now() + SEND_MS_MAX <= task.until', ''],
  ],
  'application/changes/log.ts': [
    ['Nothing is left out of the log of changes.', 'rows.map(changeOf)', 'rows.slice(0, 2).map(changeOf)'],
    [
      'A follower is at the end only where nothing lies beyond.',
      'const atEnd = !isAfter',
      'const atEnd = true || isAfter',
    ],
  ],
  'application/changes/cursor.ts': [
    ["A follower at another database's position starts again.", 'if (expiry !== undefined)', 'if (expiry === null)'],
  ],
  'domain/precondition.ts': [
    ['A change is made only on its precondition.', "isMet ? target : 'unmet'", 'target'],
    ['A change that was done meets its precondition.', '|| isSamePlant(stored, target)', ''],
  ],
  'application/find-plant.ts': [
    [
      'A change that is not made is not acknowledged.',
      "if (stored === 'unmet') throw",
      "if (stored === 'deleted') throw",
    ],
  ],
  'application/create-plant.ts': [
    ['A creation does not succeed if another plant has the id.', '&& !isSamePlant', '&& isSamePlant'],
  ],
  'adapters/sql/reads/reads-in-parts.ts': [
    ['A list goes on where it ends.', 'next: plants[length - 1]?.id', 'next: plants[length]?.id'],
  ],
  'adapters/sql/writes/add-all.ts': [
    ['An import replaces plants only if it is to.', "replaces ? {} : { excludes: 'any' }", '{}'],
  ],
  'adapters/sql/split-on-failure.ts': [
    ['Each gets its own outcome.', 'outcome.result[index] as', 'outcome.result[list.length - 1 - index] as'],
  ],
  'adapters/sql/writes/write.ts': [
    [
      'A creation whose response was lost is not told that its own plant is another one.',
      'isUncertain ? phases.afterLostInsert(take()) : take()',
      'take()',
    ],
  ],
  'adapters/sql/writes/statements.ts': [
    [
      'The id of a deleted plant stays taken.',
      'on conflict (id) do nothing',
      'on conflict (id) do update set name = excluded.name, deleted = null where plants.deleted is not null',
    ],
  ],
  'adapters/sql/writes/phases.ts': [
    ['An UPDATE of unknown outcome is not repeated.', "isUncertain && phaseOf(list) === 'update'", 'false'],
    ['Each part of a list knows of its lost INSERT.', 'isUncertain ? afterLostInsert(list) : list', 'list'],
    ['Of several creations in a list one creates the plant.', 'newIds.delete(id)', 'newIds.has(id)'],
    ['Changes of one plant take effect in their order.', 'contents.get(id) ?? row.stored', 'row.stored'],
    ['A row that has changed meanwhile is read again.', 'missedIds.has(write.call.item.id)', 'false'],
  ],
};
