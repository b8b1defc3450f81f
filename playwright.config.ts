import { defineConfig } from 'playwright/test'

export default defineConfig({
  testDir: 'e2e/browser',
  testMatch: '*.spec.ts',
  // `npm run torture` runs each story once more at the other size, with this name before its title.
  name: process.env.OTHER_SIZE ? 'other size' : '',
  grepInvert: [
    // Tests that repeat most steps of another one, or a rule of the API's tests, run in `npm run torture`.
    ...(process.env.ALL_STORIES ? [] : [/@torture/]),
    // Tests of one size, and tests that set the sizes themselves.
    ...(process.env.OTHER_SIZE ? [/@one-size/] : []),
  ],
  outputDir: '.cache/playwright',
  // `npm test` runs other tests beside these: more would only make each slower.
  workers: process.env.ALL_STORIES ? 2 : 1,
  // A test that passes only when retried is a failure.
  retries: 0,
  // Generous, because a busy machine is slow.
  timeout: 180_000,
  expect: { timeout: 30_000 },
  reporter: [['list'], ['json']],
  use: {
    baseURL: process.env.E2E_BASE_URL,
    // A control that never appears fails its story long before the story's time-out.
    actionTimeout: 20_000,
    // A response that breaks off leaves a page without a load event: `goto` would wait for the test's time-out.
    navigationTimeout: 60_000,
    // Saves the frames of animations. `npm run torture` shows them.
    contextOptions: process.env.ALL_STORIES ? {} : { reducedMotion: 'reduce' },
    screenshot: 'only-on-failure',
    launchOptions: {
      executablePath: process.env.E2E_BROWSER,
      // Prevents Chromium's background requests to Google.
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
