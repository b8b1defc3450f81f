import { defineConfig } from 'vitest/config'

/** The house test alone: it needs no database. */
export default defineConfig({ test: { include: ['lib/testing/house.test.ts'] } })
