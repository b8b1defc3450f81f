import { log } from '#lib/core/log.ts'

/** The log removes stored data: Next and other libraries print a database error with its row. */
export function redirectConsole(): void {
  console.error = (...args) => log().error({ err: findError(args) }, 'library error')
  console.warn = (...args) => log().warn({ err: findError(args) }, 'library warning')
}

function findError(args: unknown[]): unknown {
  return args.find(value => value instanceof Error) ?? args.find(value => typeof value === 'object')
}
