import { test } from 'vitest'
import { pickSize } from '#lib/testing/size.ts'

/** Runs in `npm run torture` only, because other tests check nearly the same at less cost. */
export const testInTorture = test.runIf(pickSize(false, true))
