/* The dependency rule: arrows point inward only (test/dependency-rule.test.ts shows that it bites). */

const inside = (folder) => `^src/${folder}/`;

export default {
  forbidden: [
    {
      name: 'domain-imports-nothing',
      severity: 'error',
      from: { path: inside('domain') },
      to: { pathNot: inside('domain') },
    },
    {
      name: 'application-imports-the-domain',
      severity: 'error',
      from: { path: inside('application') },
      to: { pathNot: [inside('application'), inside('domain')] },
    },
    {
      name: 'adapters-import-inward',
      comment: 'Libraries, the domain, the application and the adapter itself; neither another adapter nor the root.',
      severity: 'error',
      from: { path: '^src/adapters/([^/]+)/' },
      to: { path: '^(src|migrations)/', pathNot: ['^src/adapters/$1/', inside('application'), inside('domain')] },
    },
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
