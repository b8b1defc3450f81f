import { log } from '#lib/base/log.ts'

/**
 * Sends the console output of libraries to the log, which leaves stored data out of errors. Next and
 * others print errors unchanged, a database error with its row included.
 */
export function routeConsole(): void {
  console.error = (...said) => log().error({ err: findError(said) }, 'library error')
  console.warn = (...said) => log().warn({ err: findError(said) }, 'library warning')
}

function findError(said: unknown[]): unknown {
  return said.find(one => one instanceof Error) ?? said.find(one => typeof one === 'object')
}
