import type { Page } from 'playwright/test'
import { expect } from '#e2e/browser/app.ts'

const QUIET_MS = 500
const TIMEOUT_MS = 60_000

/**
 * Watches the requests of a page from now on. Returns a function that waits until none was open for
 * 500 ms, except live streams, and that names those that are.
 */
export async function watchRequests(page: Page): Promise<() => Promise<void>> {
  const session = await page.context().newCDPSession(page)
  await session.send('Network.enable')
  await session.send('Page.enable')
  const open = new Map<string, { url: string; loaderId: string }>()
  let changedAt = performance.now()
  const close = ({ requestId }: { requestId: string }) => {
    open.delete(requestId)
    changedAt = performance.now()
  }
  session.on('Network.requestWillBeSent', ({ requestId, loaderId, request }) => {
    open.set(requestId, { url: request.url, loaderId })
    changedAt = performance.now()
  })
  // Chromium does not report the end of every request of a page that was left.
  session.on('Page.frameNavigated', ({ frame }) => {
    for (const [requestId, { loaderId }] of open)
      if (!frame.parentId && loaderId !== frame.loaderId) open.delete(requestId)
  })
  session.on('Network.responseReceived', ({ requestId, response }) => {
    if (response.mimeType === 'text/event-stream') close({ requestId })
  })
  session.on('Network.loadingFinished', close)
  session.on('Network.loadingFailed', close)
  return () =>
    expect(() => {
      expect(
        [...open.values()].map(({ url }) => url),
        'unfinished requests',
      ).toEqual([])
      expect(performance.now() - changedAt).toBeGreaterThan(QUIET_MS)
    }).toPass({ intervals: [100], timeout: TIMEOUT_MS })
}
