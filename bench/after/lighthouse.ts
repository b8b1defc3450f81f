import lighthouse, { desktopConfig } from 'lighthouse'
import { chromium } from 'playwright'
import { findBrowser } from '#e2e/runner/tools.ts'
import { findFreePort } from '#lib/testing/server.ts'

export interface Scores {
  performance: number
  accessibility: number
  largestPaintMs: number
  shift: number
  /** Audits that scored below 0.9. */
  failedAudits: string[]
}

export type Examine = (url: string, cookie: string, device: 'desk' | 'phone') => Promise<Scores>

export async function openLighthouse(): Promise<{ examine: Examine; close: () => Promise<void> }> {
  const port = await findFreePort()
  const browser = await chromium.launch({
    executablePath: await findBrowser(),
    args: [`--remote-debugging-port=${port}`, '--no-sandbox', '--disable-gpu', '--disable-quic'],
  })
  const examine: Examine = async (url, cookie, device) => {
    const flags = {
      port,
      logLevel: 'error' as const,
      onlyCategories: ['performance', 'accessibility'],
      extraHeaders: (cookie ? { Cookie: cookie } : {}) as Record<string, string>,
      disableStorageReset: true,
    }
    const result = await lighthouse(url, flags, device === 'desk' ? desktopConfig : undefined)
    if (!result || result.lhr.runtimeError) {
      throw new Error(`Lighthouse failed on ${url}: ${result?.lhr.runtimeError?.message}`)
    }
    const { categories, audits } = result.lhr
    const score = (name: string) => Math.round((categories[name]?.score ?? 0) * 100)
    const metric = (name: string) => audits[name]?.numericValue ?? Number.NaN
    return {
      performance: score('performance'),
      accessibility: score('accessibility'),
      largestPaintMs: metric('largest-contentful-paint'),
      shift: metric('cumulative-layout-shift'),
      failedAudits: Object.values(categories)
        .flatMap(({ auditRefs }) => auditRefs.filter(({ weight }) => weight > 0))
        .filter(({ id }) => (audits[id]?.score ?? 1) < 0.9)
        .map(({ id }) => `${id} ${audits[id]?.displayValue ?? ''}`.trim()),
    }
  }
  return { examine, close: () => browser.close() }
}
