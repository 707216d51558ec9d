/* The dependency rule: arrows point inward only (test/project/dependency-rule.test.ts shows that it bites). */

const inside = (folder) => `^src/${folder}/`;

const PORTS = '^src/application/(?:ports|maintenance|permissions|webhooks/ports)\\.ts$';

/** Libraries, the adapter itself, the domain, and what is given: neither another adapter nor what plugs it in. */
const adapters = (name, folders, ...others) => ({
  name,
  severity: 'error',
  from: { path: `^src/adapters/${folders}/` },
  to: { path: '^(src|migrations)/', pathNot: ['^src/adapters/$1/', inside('domain'), ...others] },
});

export default {
  forbidden: [
    {
      name: 'domain-imports-nothing',
      comment: 'But the digest that is the fingerprint of a plant.',
      severity: 'error',
      from: { path: inside('domain') },
      to: { pathNot: [inside('domain'), '^crypto$'] },
    },
    {
      name: 'application-imports-the-domain',
      severity: 'error',
      from: { path: inside('application') },
      to: { pathNot: [inside('application'), inside('domain'), '^timers/promises$'] },
    },
    {
      name: 'formats-import-the-domain',
      comment: 'Libraries, the domain and the formats themselves.',
      severity: 'error',
      from: { path: inside('formats') },
      to: { path: '^(src|migrations)/', pathNot: [inside('formats'), inside('domain')] },
    },
    {
      name: 'lists-import-the-form-of-csv',
      comment: 'Browsers get this folder, too.',
      severity: 'error',
      from: { path: inside('lists') },
      to: { pathNot: [inside('lists'), '^src/formats/csv\\.js$'] },
    },
    adapters('http-imports-inward', '(http)', inside('application'), inside('formats')),
    adapters(
      'databases-import-ports-and-what-they-share',
      '(postgres|sqlite|sql)',
      PORTS,
      '^src/application/changes/(?:ports|cursor|held-back)\\.ts$',
      inside('adapters/sql'),
      '^src/runtime/single-flight\\.ts$',
    ),
    adapters('webhooks-import-ports-and-their-format', '(webhooks)', PORTS, '^src/formats/plant-json\\.ts$'),
    adapters('other-adapters-import-ports', '(?!(?:http|postgres|sqlite|sql|webhooks)/)([^/]+)', PORTS),
    {
      name: 'runtime-serves-all',
      comment: 'What a process does with its signals and streams, whatever runs in it.',
      severity: 'error',
      from: { path: inside('runtime') },
      to: { path: '^(src|migrations)/', pathNot: inside('runtime') },
    },
    {
      name: 'config-imports-no-adapter',
      severity: 'error',
      from: { path: inside('config') },
      to: { path: '^(src|migrations)/', pathNot: [inside('config'), PORTS] },
    },
    {
      name: 'the-page-imports-the-reader-of-lists',
      comment: 'Browsers run its scripts: they get web and this folder, and no packages.',
      severity: 'error',
      from: { path: '^web/' },
      to: { pathNot: ['^web/', inside('lists')] },
    },
    {
      name: 'the-page-is-served-not-imported',
      severity: 'error',
      from: { path: '^(src|migrations)/' },
      to: { path: '^web/' },
    },
    {
      name: 'commands-plug-in-only',
      comment: 'What is inside knows nothing of the commands and of what plugs the adapters in.',
      severity: 'error',
      from: { path: '^src/[^/]+/' },
      to: { path: '^src/[^/]+\\.ts$' },
    },
    {
      name: 'commands-share-their-own-room',
      severity: 'error',
      from: { path: '^src/[^/]+/', pathNot: inside('cli') },
      to: { path: inside('cli') },
    },
    {
      name: 'the-product-needs-no-tooling',
      comment: 'The image has only src, web and migrations.',
      severity: 'error',
      from: { path: '^(src|web|migrations)/' },
      to: { path: '^(tooling|test|bench)/' },
    },
    {
      name: 'tooling-serves-tests-and-bench',
      comment: 'What both share imports neither.',
      severity: 'error',
      from: { path: '^tooling/' },
      to: { path: '^(test|bench)/' },
    },
    {
      name: 'no-time-but-what-the-simulation-replaces',
      comment:
        'test/simulation/kernel.ts runs these in a time of its own; the thread of large checkpoints has none there.',
      severity: 'error',
      from: {
        path: [inside('adapters/sql'), inside('adapters/sqlite')],
        pathNot: '^src/adapters/sqlite/file/checkpoint(s|-thread)[.]ts$',
      },
      to: { path: '^(node:)?(timers|perf_hooks|worker_threads|child_process|cluster)$' },
    },
    { name: 'changes-know-no-webhooks', severity: 'error', from: { path: '/changes/' }, to: { path: '/webhooks/' } },
    { name: 'no-circle', severity: 'error', from: {}, to: { circular: true } },
    { name: 'nothing-missing', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    parser: 'swc',
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
};
