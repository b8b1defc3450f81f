import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { TESTS } from '../../vitest.config.ts'

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

/** Quoted texts that may be paths of files: imports, and programs that a test starts by path. */
const QUOTED_PATH = /(['"`])(#|\.{1,2}\/|[a-z0-9]+\/)([^'"`\s]+)\1/g
/** They vanish before the code runs; the compiler checks them in `npm run verify`. */
const TYPE_IMPORT = /^(import|export) type [^;]*? from '[^']+'/gm
/** Programs that the entry point can start: nothing else depends on them. */
const OTHER_PROGRAMS = /^(bench|e2e\/(cluster|runner))\//
/** Tests and their support may test those programs themselves. */
const SUPPORT_OF_TESTS = /\.(test|spec)\.ts$|^(e2e|lib\/testing)\//
const SOURCE_FILE = /\.(ts|tsx|mjs|js)$/

/** Maps each file of the repository to the files whose paths it contains. */
export class ImportGraph {
  readonly files: readonly string[]
  readonly #texts: ReadonlyMap<string, string>
  readonly #reachable = new Map<string, ReadonlySet<string>>()

  constructor(texts: ReadonlyMap<string, string>) {
    this.#texts = texts
    this.files = [...texts.keys()]
  }

  /** Reads the tracked files below a folder, and new files that are not ignored. */
  static read(root = '.'): ImportGraph {
    const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard']
    const files = execFileSync('git', list, { cwd: root, encoding: 'utf8' }).split('\0')
    const present = files.filter(file => file !== '' && existsSync(join(root, file)))
    const textOf = (file: string) =>
      SOURCE_FILE.test(file) ? readFileSync(join(root, file), 'utf8') : ''
    return new ImportGraph(new Map(present.map(file => [file, textOf(file)])))
  }

  textOf(file: string): string {
    return this.#texts.get(file) ?? ''
  }

  importsOf(file: string): string[] {
    const text = this.textOf(file).replaceAll(TYPE_IMPORT, '')
    const paths = [...text.matchAll(QUOTED_PATH)].map(([, , start = '', rest = '']) => {
      if (start === '#') return rest
      return start.startsWith('.') ? posix.join(dirname(file), start + rest) : start + rest
    })
    const mayReach = (target: string) =>
      !OTHER_PROGRAMS.test(target) || OTHER_PROGRAMS.test(file) || SUPPORT_OF_TESTS.test(file)
    return [...new Set(paths)].filter(
      target => target !== file && this.#texts.has(target) && mayReach(target),
    )
  }

  /** Returns the file and all its direct and indirect dependencies. */
  listReachable(file: string): ReadonlySet<string> {
    const cached = this.#reachable.get(file)
    if (cached) return cached
    const reachable = new Set([file])
    for (const reached of reachable) for (const next of this.importsOf(reached)) reachable.add(next)
    this.#reachable.set(file, reachable)
    return reachable
  }
}

const SPEC_FILES = 'e2e/browser/*.spec.ts'

/** Arguments of `npm test -- …`. */
export interface RunOptions {
  words: string[]
  /** Runs only tests whose titles contain this text. */
  title: string | null
  watch: boolean
  changed: boolean
}

export interface Selection {
  /** Files run by Vitest: unit and API tests. */
  tests: string[]
  /** Files run by Playwright: browser tests. */
  specs: string[]
}

export function parseRunOptions(args: readonly string[]): RunOptions {
  const options: RunOptions = { words: [], title: null, watch: false, changed: false }
  const remaining = args.values()
  for (const arg of remaining) {
    if (arg === '--watch') options.watch = true
    else if (arg === '--changed') options.changed = true
    else if (arg === '-t') options.title = remaining.next().value ?? null
    else if (arg.startsWith('-')) throw new Error(`Unknown option ${arg}: ${USAGE}`)
    else options.words.push(arg)
  }
  if (args.includes('-t') && options.title === null) throw new Error(`-t needs a title: ${USAGE}`)
  return options
}

const USAGE = 'npm test -- [path or words] [-t title] [--changed] [--watch]'

/** Lists every test file of the repository. */
export function listTests(): Selection {
  return { tests: globSync(TESTS).sort(), specs: globSync(SPEC_FILES).sort() }
}

/** Selects the files whose path contains any word; a source file selects the test beside it. */
export function selectByWords(all: Selection, words: readonly string[]): Selection {
  if (words.length === 0) return all
  const stems = words.map(stemOf)
  const hasWord = (file: string) => stems.some(word => file.toLowerCase().includes(word))
  const found = [...all.tests, ...all.specs]
  for (const [index, word] of stems.entries())
    if (!found.some(file => file.toLowerCase().includes(word)))
      throw new Error(`No test file has ${words[index]} in its path`)
  return { tests: all.tests.filter(hasWord), specs: all.specs.filter(hasWord) }
}

function stemOf(word: string): string {
  const path = word.toLowerCase().replace(/^\.\//, '')
  return /\.(test|spec)\.ts$/.test(path) ? path : path.replace(/\.tsx?$/, '.')
}
