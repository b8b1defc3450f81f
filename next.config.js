const isDevelopment = process.env.NODE_ENV === 'development'
/** A build has no `route.ts`, which the front serves: it would compile the whole server a second time. */
const ROUTES = isDevelopment ? ['ts', 'next.ts'] : ['next.ts']

/** @type {import('next').NextConfig} */
export default {
  pageExtensions: ['tsx', ...ROUTES],
  // Each build has its own folder, so that a running server keeps the files it started with.
  distDir: process.env.TROCO_BUILD ?? '.next',
  poweredByHeader: false,
  // The front compresses (lib/http/compression.ts).
  compress: false,
  reactStrictMode: true,
  devIndicators: false,
  images: { unoptimized: true },
  experimental: {
    // A page that the role may not open says so (app/[mode]/forbidden.tsx).
    authInterrupts: true,
    // The front serves `/api` itself: Next would load all routes again at the start, which takes 17 MB.
    preloadEntriesOnStart: false,
    // A folder is built once, and nothing reads the maps of its server: a quarter of the work, 330 MB.
    turbopackFileSystemCacheForBuild: false,
    turbopackSourceMaps: isDevelopment,
  },
  // `npm run verify` runs tsc; Next's own check does not support TypeScript 7.
  // Next rewrites the tsconfig that it reads, so bin/prepare.mjs makes a copy for it.
  typescript: { ignoreBuildErrors: true, tsconfigPath: '.cache/tsconfig.next.json' },
  serverExternalPackages: [
    '@prisma/adapter-pg',
    '@prisma/client',
    '@redis/client',
    'pg',
    'pino',
    'pino-pretty',
    'rate-limiter-flexible',
  ],
  // The part of next-intl's plugin that is needed, without its compiler and file watcher.
  // Messages arrive parsed (lib/session/intl.ts).
  turbopack: {
    resolveAlias: {
      'next-intl/config': './lib/session/intl.ts',
      'use-intl/format-message': 'use-intl/format-message/format-only',
    },
  },
  redirects: async () => [
    { source: '/signin', destination: '/login', permanent: false },
    { source: '/dashboard', destination: '/', permanent: false },
    { source: '/transactions', destination: '/test/charges', permanent: false },
    { source: '/tokens', destination: '/test/settings/tokens', permanent: false },
  ],
}
