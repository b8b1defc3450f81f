import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

/** Oldest versions without a known vulnerability that affects Troco. */
const OLDEST_VERSIONS: Record<string, string> = {
  next: '16.4.6',
  'next-auth': '4.24.15',
  react: '19.3.0',
  'react-dom': '19.3.0',
  '@prisma/client': '7.10.0',
  pg: '8.23.0',
  nodemailer: '7.0.7',
}

const manifest = JSON.parse(readFileSync('package.json', 'utf8'))
const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'))
const pins: [string, string][] = Object.entries({
  ...manifest.dependencies,
  ...manifest.devDependencies,
  ...manifest.optionalDependencies,
  ...JSON.parse(readFileSync('e2e/client/package.json', 'utf8')).devDependencies,
})

function isAtLeast(version: string, oldest: string): boolean {
  return version.localeCompare(oldest, 'en', { numeric: true }) >= 0
}

test.each(Object.entries(OLDEST_VERSIONS))(
  '%s is at least %s wherever it is installed',
  (name, oldest) => {
    const installed = Object.entries<{ version: string }>(lock.packages)
      .filter(([path]) => path === `node_modules/${name}` || path.endsWith(`/node_modules/${name}`))
      .map(([, { version }]) => version)
    expect(installed.length).toBeGreaterThan(0)
    for (const version of installed) expect(isAtLeast(version, oldest), version).toBe(true)
  },
)

test('versions are compared numerically', () => {
  expect(isAtLeast('16.10.0', '16.4.6')).toBe(true)
  expect(isAtLeast('16.4.5', '16.4.6')).toBe(false)
})

test('every version is exact, and the lock file contains no registry URL', () => {
  expect(pins.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([])
  // Only workspaces are resolved to a path, which is a folder of the repository.
  const resolvedPaths = Object.values<{ resolved?: string }>(lock.packages).map(
    entry => entry.resolved,
  )
  expect(resolvedPaths.filter(path => path !== undefined)).toEqual(manifest.workspaces)
})
