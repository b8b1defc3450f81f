import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'

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
