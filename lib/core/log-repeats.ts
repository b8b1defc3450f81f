/** Each cause is printed at most once in this time. */
const REPEAT_MS = 1_000

/** Fields that separate causes with the same error, and that the line which counts the others has, too. */
const KEPT_FIELDS = ['job', 'code', 'reason']

type Line = [fields: object, message: string]
interface Repeat {
  suppressed: number
  print: () => void
}

interface Verdict {
  isAdmitted: boolean
  /** Short text of the logged error, if any. */
  cause: string | undefined
}

/**
 * Returns a function that admits a line whose cause has not been printed for a second: the message with its
 * fields, or with its error, job, code and reason. `print` gets a line that counts the others.
 */
export function createRepeatLimit(describe: (error: unknown) => Record<string, unknown>) {
  const repeats = new Map<string, Repeat>()

  function startSecond(key: string): void {
    const timer = setTimeout(() => {
      const repeat = repeats.get(key)
      if (!repeat || repeat.suppressed === 0) return void repeats.delete(key)
      repeat.print()
      repeat.suppressed = 0
      startSecond(key)
    }, REPEAT_MS)
    timer.unref()
  }

  process.once('exit', () => {
    for (const { suppressed, print } of repeats.values()) if (suppressed > 0) print()
  })

  return (args: unknown[], print: (line: Line) => void): Verdict => {
    const fields: { err?: unknown } = typeof args[0] === 'object' ? (args[0] ?? {}) : {}
    const message = String(args.find(value => typeof value === 'string') ?? '')
    const { err } = fields
    const described = err === undefined ? null : describe(err)
    const kept = described ? pickKept({ ...described, ...fields }) : fields
    const key = `${message} ${stringify({ ...kept, ...(described && firstFrameOnly(described)) })}`
    const cause = described ? shorten(described) : undefined
    const known = repeats.get(key)
    if (known) {
      known.suppressed++
      return { isAdmitted: false, cause }
    }
    const repeat = {
      suppressed: 0,
      print: () =>
        print([{ ...kept, suppressed: repeat.suppressed, ...(cause && { cause }) }, message]),
    }
    repeats.set(key, repeat)
    startSecond(key)
    return { isAdmitted: true, cause }
  }
}

/** Unlike the rest of the stack, which tells how the failing code was reached. */
function firstFrameOnly({ at, ...described }: Record<string, unknown>) {
  return { ...described, at: Array.isArray(at) ? at[0] : at }
}

function pickKept(fields: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => KEPT_FIELDS.includes(name)))
}

function shorten({ kind, code, reason, constraint, message }: Record<string, unknown>): string {
  return [kind, code, reason, constraint, message].filter(Boolean).join(' ')
}

function stringify(value: object): string {
  return JSON.stringify(value, (_name, each) => (typeof each === 'bigint' ? String(each) : each))
}
