import { log } from '#lib/base/log.ts'

/**
 * Sends the console output of libraries to the log, which leaves stored data out of errors. Next and
 * others print errors unchanged, a database error with its row included.
 */
export function redirectConsole(): void {
  console.error = (...args) => log().error({ err: findError(args) }, 'library error')
  console.warn = (...args) => log().warn({ err: findError(args) }, 'library warning')
}

function findError(args: unknown[]): unknown {
  return args.find(one => one instanceof Error) ?? args.find(one => typeof one === 'object')
}
