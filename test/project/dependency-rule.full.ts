import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { projectFile, startNode, temporaryFolder } from '../support/service-process.ts';

/* The dependency rule of .dependency-cruiser.mjs covers every folder, and bites: npm run check shows that it holds. */

interface Summary {
  readonly violations: readonly { readonly from: string; readonly rule: { readonly name: string } }[];
}

const FOLDERS = ['src', 'migrations', 'tooling', 'web'];
const DATABASES = 'databases-import-ports-and-what-they-share';
const WEBHOOKS = 'webhooks-import-ports-and-their-format';
const OTHERS = 'other-adapters-import-ports';

test('every forbidden import is reported', async () => {
  const forbidden: [rule: string, file: string, source: string][] = [
    ['domain-imports-nothing', 'src/domain/with-node.ts', `import 'node:fs';`],
    ['domain-imports-nothing', 'src/domain/with-package.ts', `import 'koa';`],
    ['domain-imports-nothing', 'src/domain/with-type.ts', `import type Koa from 'koa'; export type { Koa };`],
    ['application-imports-the-domain', 'src/application/with-adapter.ts', `import '../adapters/http/errors.ts';`],
    ['application-imports-the-domain', 'src/application/with-formats.ts', `import '../formats/schemas.ts';`],
    ['formats-import-the-domain', 'src/formats/with-adapter.ts', `import '../adapters/http/errors.ts';`],
    ['http-imports-inward', 'src/adapters/http/with-other.ts', `import '../postgres/readiness.ts';`],
    ['http-imports-inward', 'src/adapters/http/with-config.ts', `import '../../config/config.ts';`],
    [DATABASES, 'src/adapters/postgres/with-other.ts', `import '../sqlite/backup.ts';`],
    [DATABASES, 'src/adapters/postgres/with-csv.ts', `import '../../formats/csv.js';`],
    [DATABASES, 'src/adapters/sqlite/with-use-case.ts', `import '../../application/changes/log.ts';`],
    [DATABASES, 'src/adapters/sql/with-database.ts', `import '../postgres/failures.ts';`],
    [WEBHOOKS, 'src/adapters/webhooks/with-schemas.ts', `import '../../formats/schemas.ts';`],
    [DATABASES, 'src/adapters/sqlite/with-process.ts', `import '../../runtime/say.ts';`],
    [WEBHOOKS, 'src/adapters/webhooks/with-log.ts', `import '../../application/changes/cursor.ts';`],
    [OTHERS, 'src/adapters/metrics/with-log.ts', `import '../../application/changes/held-back.ts';`],
    [OTHERS, 'src/adapters/auth/with-sql.ts', `import '../../../migrations/0002_index_tags.ts';`],
    [OTHERS, 'src/adapters/metrics/with-use-case.ts', `import '../../application/create-plant.ts';`],
    [OTHERS, 'src/adapters/new-one/with-json.ts', `import '../../formats/plant-json.ts';`],
    ['lists-import-the-form-of-csv', 'src/lists/with-plant.js', `import '../domain/plant.ts';`],
    ['runtime-serves-all', 'src/runtime/with-domain.ts', `export type { Plant } from '../domain/plant.ts';`],
    ['config-imports-no-adapter', 'src/config/with-adapter.ts', `import '../adapters/http/errors.ts';`],
    ['the-page-imports-the-reader-of-lists', 'web/scripts/with-schemas.js', `import '../../src/formats/schemas.ts';`],
    ['the-page-is-served-not-imported', 'src/adapters/http/with-page.ts', `import '../../../web/scripts/ids.js';`],
    ['commands-plug-in-only', 'src/bootstrap/with-command.ts', `import '../migrate.ts';`],
    ['commands-share-their-own-room', 'src/bootstrap/with-progress.ts', `import '../cli/progress.ts';`],
    ['the-product-needs-no-tooling', 'src/bootstrap/with-tooling.ts', `import '../../tooling/session.ts';`],
    ['tooling-serves-tests-and-bench', 'tooling/with-test.ts', `import '../test/one.ts';`],
    ['no-time-but-what-the-simulation-replaces', 'src/adapters/sql/with-thread.ts', `import 'node:worker_threads';`],
    ['no-time-but-what-the-simulation-replaces', 'src/adapters/sqlite/with-timer.ts', `import 'node:timers';`],
    ['changes-know-no-webhooks', 'src/application/changes/with-webhooks.ts', `import '../webhooks/ports.ts';`],
    ['no-circle', 'src/adapters/http/circle-one.ts', `import './circle-two.ts';`],
    ['nothing-missing', 'src/with-nothing.ts', `import './nothing.ts';`],
  ];
  const copy = await temporaryFolder();
  for (const name of ['node_modules', 'package.json']) await symlink(projectFile(name), join(copy, name));
  for (const folder of FOLDERS) {
    await cp(projectFile(folder), join(copy, folder), { recursive: true });
  }
  await mkdir(join(copy, 'test'));
  await mkdir(join(copy, 'src/adapters/new-one'));
  await writeFile(join(copy, 'test/one.ts'), '');
  await writeFile(join(copy, 'src/adapters/http/circle-two.ts'), `import './circle-one.ts';`);
  for (const [, file, source] of forbidden) await writeFile(join(copy, file), source);

  const program = projectFile('node_modules/dependency-cruiser/bin/dependency-cruiser.mjs');
  const options = ['--config', projectFile('.dependency-cruiser.mjs'), '--output-type', 'json'];
  const { stdout, stderr } = await startNode([program, ...FOLDERS, ...options], copy).outcome();
  expect(stderr).toBe('');
  const { summary }: { summary: Summary } = JSON.parse(stdout);
  const reported = summary.violations.map(({ rule, from }) => `${rule.name}: ${from}`);
  expect(reported.toSorted()).toEqual(forbidden.map(([rule, file]) => `${rule}: ${file}`).toSorted());
});
