import { log } from '#lib/base/log.ts'

/**
 * Next and other libraries print errors as they are, a database error's row included. What they
 * print on the console goes through our log instead, which knows what may be said of an error.
 */
export function routeConsole(): void {
  console.error = (...said) => log().error({ err: findError(said) }, 'a library reported an error')
  console.warn = (...said) => log().warn({ err: findError(said) }, 'a library warned')
}

function findError(said: unknown[]): unknown {
  return said.find(one => one instanceof Error) ?? said.find(one => typeof one === 'object')
}
