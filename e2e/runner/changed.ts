import { execFileSync } from 'node:child_process'
import { dirname } from 'node:path'
import type { ImportGraph } from '#e2e/runner/import-graph.ts'
import type { Selection } from '#e2e/runner/selection.ts'

/** Files that every test depends on without importing them. */
const FILES_OF_ALL_TESTS = [
  /^[^/]+\.(json|js|mjs|ts)$/,
  /^prisma\/(?!.*\.test\.ts$)/,
  /^bin\/(bootstrap|prepare)\.mjs$/,
  /^e2e\/runner\/(?!.*\.test\.ts$)/,
  /^lib\/testing\/(setup|server|run)\.ts$/,
]
/** Files that pages load without importing them. */
const FILES_OF_ALL_PAGES = /^(messages|public)\//
/** Shipped files that the code does not import: the tests that read them name them. */
const FILES_BY_NAME = /^([^/]+|examples\/.*|cli\/.*|docs\/monitoring\/.*)$/
const FRONT = 'lib/http/front.ts'
/** The file that loads every route by walking the folder. */
const ROUTE_LOADER = 'lib/http/routes.ts'
/** Support files of tests, which may mention paths instead of the tests themselves. */
const SUPPORT_FILES = /^(e2e|lib\/testing)\//
/** Files that Next wraps around every page below their folder. */
const WRAPPER_FILES = ['layout', 'template', 'loading', 'error', 'not-found', 'global-error']
/** Share of pages above which a changed file counts as part of all pages. */
const SHARED_PAGE_RATIO = 0.5

/** Returns the commit at which the branch left main, and the files changed since then. */
export function listChanges(): { base: string; files: string[] } {
  const mergeBase = git('merge-base', 'HEAD', 'origin/main') ?? git('merge-base', 'HEAD', 'main')
  const base = mergeBase ?? git('rev-parse', 'HEAD') ?? 'HEAD'
  const lists = [
    git('diff', '--name-only', '--no-renames', '-z', base),
    git('ls-files', '--others', '--exclude-standard', '-z'),
  ]
  const files = lists.flatMap(list => (list ?? '').split('\0')).filter(file => file !== '')
  return { base: base.slice(0, 7), files: [...new Set(files)].sort() }
}

function git(...args: string[]): string | null {
  try {
    const stdio = ['ignore', 'pipe', 'ignore'] as const
    return execFileSync('git', args, { encoding: 'utf8', stdio: [...stdio] }).trim()
  } catch {
    return null
  }
}

/**
 * Selects the tests that changed files affect: tests that import them, API tests that mention the
 * path of a changed route, and browser tests that mention a section of a changed page.
 */
export function selectByChange(
  all: Selection,
  changed: readonly string[],
  graph: ImportGraph,
): Selection {
  if (changed.some(file => FILES_OF_ALL_TESTS.some(pattern => pattern.test(file)))) return all
  const isAffected = (file: string) =>
    changed.some(changedFile => graph.listReachable(file).has(changedFile))
  const routes = graph.files.filter(
    file => /^app\/.*\/route(\.next)?\.ts$/.test(file) && isAffected(file),
  )
  const sections = findAffectedSections(changed, graph)
  const named = changed.filter(file => FILES_BY_NAME.test(file))
  const namesAny = (test: string) => named.some(file => graph.textOf(test).includes(nameOf(file)))
  return {
    tests: all.tests.filter(
      test => isAffected(test) || namesAny(test) || callsAnyRoute(test, routes, graph),
    ),
    specs: all.specs.filter(spec => isAffected(spec) || opensAnySection(spec, sections, graph)),
  }
}

/** The command line is one package: a test that reads any of its files is about all of them. */
function nameOf(file: string): string {
  return file.startsWith('cli/') ? "'cli/" : file
}

/** Explains a selection: for each changed file, how many tests and stories it selects alone. */
export function explainChanges(
  all: Selection,
  changed: readonly string[],
  graph: ImportGraph,
): string[] {
  return changed.map(file => {
    const { tests, specs } = selectByChange(all, [file], graph)
    const reaching = tests.filter(test => graph.listReachable(test).has(file)).length
    const others = tests.length - reaching
    const parts = [
      ...(reaching > 0 ? [`${reaching} test files import it`] : []),
      ...(others > 0 ? [`${others} name it, its route or depend on it at start`] : []),
      ...(specs.length > 0 ? [`${specs.length} stories show its pages`] : []),
    ]
    return `${file}: ${parts.join(', ') || 'no test'}`
  })
}

function callsAnyRoute(test: string, routes: readonly string[], graph: ImportGraph): boolean {
  if (routes.length === 0 || !graph.listReachable(test).has(FRONT)) return false
  const sources = [test, ...graph.importsOf(test).filter(file => SUPPORT_FILES.test(file))]
  if (sources.some(file => graph.importsOf(file).includes(ROUTE_LOADER))) return true
  const text = readTextsWithoutImports(sources, graph)
  return routes.some(route => fixedSegments(route).every(segment => mentionsSegment(text, segment)))
}

/** Returns the fixed segments of a route file's path, without the leading `app` and `api`. */
function fixedSegments(file: string): string[] {
  const segments = dirname(file).split('/').slice(1)
  return segments.filter(segment => !/^(\[.*\]|\(.*\)|api)$/.test(segment))
}

/** Returns the texts of these files without import paths, which look like URL paths. */
function readTextsWithoutImports(files: readonly string[], graph: ImportGraph): string {
  return files.map(file => graph.textOf(file).replaceAll(/'[#.][^']*'/g, '')).join('\n')
}

function mentionsSegment(text: string, segment: string): boolean {
  return new RegExp(`/${RegExp.escape(segment)}(?![\\w-])`).test(text)
}

/** Returns the sections of the changed pages, or `all` if a shared file has changed. */
function findAffectedSections(changed: readonly string[], graph: ImportGraph): Set<string> | 'all' {
  if (changed.some(file => FILES_OF_ALL_PAGES.test(file))) return 'all'
  const pages = graph.files.filter(file => /^app\/.*page\.tsx$/.test(file))
  const affected = pages.filter(page =>
    [page, ...listWrappers(page, graph)].some(part =>
      changed.some(changedFile => graph.listReachable(part).has(changedFile)),
    ),
  )
  if (affected.length > pages.length * SHARED_PAGE_RATIO) return 'all'
  return new Set(affected.map(sectionOf))
}

function listWrappers(page: string, graph: ImportGraph): string[] {
  const filesAbove = graph.files.filter(file => page.startsWith(`${dirname(file)}/`))
  return filesAbove.filter(file => WRAPPER_FILES.some(name => file.endsWith(`/${name}.tsx`)))
}

/** Returns the first fixed segment of the page's path; below `admin`, the second. */
function sectionOf(page: string): string {
  const [first = '', second] = fixedSegments(page)
  return first === 'admin' && second ? second : first
}

function opensAnySection(spec: string, sections: Set<string> | 'all', graph: ImportGraph): boolean {
  if (sections === 'all') return true
  const sources = [spec, ...graph.importsOf(spec).filter(file => SUPPORT_FILES.test(file))]
  const text = readTextsWithoutImports(sources, graph)
  return [...sections].some(section => mentionsSegment(text, section))
}
