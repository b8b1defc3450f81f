import { describe, expect, test } from 'vitest'
import { explainChanges, ImportGraph, selectByChange } from '#e2e/runner/changed.ts'

const FILES = {
  'package.json': '',
  'messages/en.json': '',
  'prisma/schema.prisma': '',
  'docs/setup.md': '',
  'lib/core/money.ts': '',
  'lib/core/money.test.ts': "import { format } from '#lib/core/money.ts'",
  'lib/charges/create.ts': "import '../core/money.ts'",
  'lib/withdrawals/create.ts': '',
  'lib/http/routes.ts': '',
  'lib/http/front.ts': "import { loadRoutes } from '#lib/http/routes.ts'",
  'lib/testing/fixtures.ts': "import { createFront } from '#lib/http/front.ts'",
  'lib/testing/child.ts': "import '#lib/withdrawals/create.ts'",
  'app/layout.tsx': "import '#components/logo.tsx'",
  'components/logo.tsx': '',
  'components/money.tsx': '',
  'app/[mode]/charges/page.tsx': "import '#components/money.tsx'",
  'app/[mode]/home/page.tsx': '',
  'app/[mode]/withdrawals/page.tsx': "import '#app/[mode]/withdrawals/list.tsx'",
  'app/[mode]/withdrawals/list.tsx': '',
  'app/[mode]/withdrawals/[id]/page.tsx': '',
  'app/admin/audit/page.tsx': '',
  'app/api/transactions/[[...path]]/route.ts': "import '#lib/charges/create.ts'",
  'app/api/withdrawals/[[...path]]/route.ts': "import '#lib/withdrawals/create.ts'",
  'e2e/api/transactions.test.ts':
    "import '#lib/testing/fixtures.ts'; call('POST', '/transactions')",
  'e2e/api/withdrawals.test.ts': "import '#lib/testing/fixtures.ts'; call(`/withdrawals/x1`)",
  'e2e/api/routes.test.ts': "import '#lib/testing/fixtures.ts'; import '#lib/http/routes.ts'",
  'e2e/api/child.test.ts': "fork('lib/testing/child.ts')",
  'cli/troco.mjs': "import './output.mjs'",
  'cli/output.mjs': '',
  Containerfile: '',
  '.env.example': '',
  'bench/run.ts': "import '#lib/core/money.ts'",
  'bin/bootstrap.mjs': "const PROGRAMS = { bench: 'bench/run.ts' }",
  'lib/testing/process.ts': "spawn('bin/bootstrap.mjs')",
  'lib/core/types.ts': '',
  'lib/core/errors.ts': "import type { Kind } from '#lib/core/types.ts'",
  'lib/core/errors.test.ts': "import '#lib/core/errors.ts'; import '#lib/testing/process.ts'",
  'e2e/api/command-line.test.ts': "readFileSync('cli/package.json')",
  'e2e/torture/container.test.ts': "readFileSync('Containerfile')",
  'lib/core/settings.test.ts': "readFileSync('.env.example')",
  'e2e/browser/charges.spec.ts': "page.goto('/test/charges')",
  'e2e/browser/audit.spec.ts': "page.goto('/admin/audit')",
  'e2e/browser/withdrawals.spec.ts': "import '#e2e/browser/merchant.ts'",
  'e2e/browser/merchant.ts': 'page.goto(`/test/withdrawals/x1`)',
}
const ALL = {
  tests: Object.keys(FILES).filter(file => file.endsWith('.test.ts')),
  specs: Object.keys(FILES).filter(file => file.endsWith('.spec.ts')),
}
const graph = new ImportGraph(new Map(Object.entries(FILES)))

function selectTests(...changed: string[]): string[] {
  const { tests, specs } = selectByChange(ALL, changed, graph)
  return [...tests, ...specs]
}

describe('a change selects', () => {
  test.each([
    ['the test itself', 'lib/core/money.test.ts', ['lib/core/money.test.ts']],
    [
      'tests that import the file, and tests that call a route that imports it',
      'lib/core/money.ts',
      ['lib/core/money.test.ts', 'e2e/api/transactions.test.ts', 'e2e/api/routes.test.ts'],
    ],
    [
      'API tests that mention its route, and tests that start the file as a program',
      'lib/withdrawals/create.ts',
      ['e2e/api/withdrawals.test.ts', 'e2e/api/routes.test.ts', 'e2e/api/child.test.ts'],
    ],
    [
      'every API test, if the front has changed',
      'lib/http/front.ts',
      ['e2e/api/transactions.test.ts', 'e2e/api/withdrawals.test.ts', 'e2e/api/routes.test.ts'],
    ],
    [
      "the browser tests of a page's section, by the paths in their support files too",
      'app/[mode]/withdrawals/list.tsx',
      ['e2e/browser/withdrawals.spec.ts'],
    ],
    ['the browser tests of the pages that use a component', 'components/money.tsx', [ALL.specs[0]]],
    [
      'the browser tests of one admin page only',
      'app/admin/audit/page.tsx',
      ['e2e/browser/audit.spec.ts'],
    ],
    ['all browser tests, for a part of the layout', 'components/logo.tsx', ALL.specs],
    ['all browser tests, for a message file', 'messages/en.json', ALL.specs],
    ['every test, for package.json', 'package.json', [...ALL.tests, ...ALL.specs]],
    ['every test, for the database schema', 'prisma/schema.prisma', [...ALL.tests, ...ALL.specs]],
    ['no test, for what is imported as a type alone', 'lib/core/types.ts', []],
    ['no test that only starts the product, for a benchmark', 'bench/run.ts', []],
    [
      'the tests of the command line, for each of its files',
      'cli/output.mjs',
      ['e2e/api/command-line.test.ts'],
    ],
    ['the test of the container', 'Containerfile', ['e2e/torture/container.test.ts']],
    ['the test of the settings', '.env.example', ['lib/core/settings.test.ts']],
    ['no test, for a page of the documentation', 'docs/setup.md', []],
  ])('%s: %s', (_what, changed, expected) => {
    expect(selectTests(changed)).toEqual(expected)
  })
})

test('each changed file says how many tests it selects, and why', () => {
  const files = ['lib/core/money.ts', 'app/admin/audit/page.tsx', 'docs/setup.md']
  expect(explainChanges(ALL, files, graph)).toEqual([
    'lib/core/money.ts: 1 test files import it, 2 name it, its route or depend on it at start',
    'app/admin/audit/page.tsx: 1 stories show its pages',
    'docs/setup.md: no test',
  ])
})

test('in this repository, an operation selects its own test and the tests of its route, not those of other features', () => {
  const repositoryGraph = ImportGraph.read()
  const unitTest = 'lib/withdrawals/create.test.ts'
  const apiTest = 'e2e/api/withdrawals.test.ts'
  const otherTest = 'lib/core/money.test.ts'
  const all = { tests: [unitTest, apiTest, otherTest], specs: [] }
  const { tests } = selectByChange(all, ['lib/withdrawals/create.ts'], repositoryGraph)
  expect(tests).toEqual([unitTest, apiTest])
})
