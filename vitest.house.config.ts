import { defineConfig } from 'vitest/config'

/** Runs only the test of the layout rules, which needs no database. */
export default defineConfig({ test: { include: ['lib/testing/house.test.ts'] } })
