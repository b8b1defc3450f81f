import { flushCompileCache } from 'node:module'

/** By then a process has started: the cache contains all that a start compiles. */
const STARTED_MS = 3_000

// A process writes it when it exits; one that is killed would leave nothing to the next one.
setTimeout(flushCompileCache, STARTED_MS).unref()
