import { flushCompileCache } from 'node:module'

/** After this time a process has started and compiled its code. */
const STARTED_MS = 3_000

// A process writes it when it exits; one that is killed would leave nothing to the next one.
setTimeout(flushCompileCache, STARTED_MS).unref()
