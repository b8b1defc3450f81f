import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: { include: ['lib/**/*.test.ts'], testTimeout: 60_000, hookTimeout: 60_000 },
})
