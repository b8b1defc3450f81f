import { prepare } from '#bin/prepare.mjs'

// Waits for the build that runs beside the tests.
await prepare({ pages: true })
