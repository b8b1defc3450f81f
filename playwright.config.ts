import { defineConfig } from 'playwright/test'

export default defineConfig({
  testDir: 'e2e/browser',
  testMatch: '*.spec.ts',
  // Stories that repeat another one's steps at another size: `npm run torture` tells them all.
  grepInvert: process.env.ALL_STORIES ? [] : /@torture/,
  outputDir: '.cache/playwright',
  workers: 2,
  // No story is run again: one that passes the second time only is a failure.
  retries: 0,
  timeout: 60_000,
  // A busy machine is late; what never comes fails a little later.
  expect: { timeout: 15_000 },
  reporter: [['list'], ['json']],
  use: {
    baseURL: process.env.E2E_BASE_URL,
    screenshot: 'only-on-failure',
    launchOptions: {
      executablePath: process.env.E2E_BROWSER,
      // Without these, Chromium asks its maker's servers in the background.
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    },
  },
})
