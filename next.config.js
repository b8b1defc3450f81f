/** @type {import('next').NextConfig} */
export default {
  // Each build has a folder of its own, so that a running server keeps the one it started with.
  distDir: process.env.TROCO_BUILD ?? '.next',
  poweredByHeader: false,
  // The proxy in front compresses, or nobody: our answers to a loopback gain nothing by it.
  compress: false,
  reactStrictMode: true,
  devIndicators: false,
  images: { unoptimized: true },
  // `npm run verify` runs tsc itself; Next's own check does not know TypeScript 7.
  // It also rewrites the settings it reads, so it gets a copy of its own from the bootstrap.
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
  // What next-intl's plugin does, without the compiler and the file watcher that it brings.
  turbopack: { resolveAlias: { 'next-intl/config': './lib/edge/session/intl.ts' } },
  redirects: async () => [
    { source: '/signin', destination: '/login', permanent: false },
    { source: '/dashboard', destination: '/', permanent: false },
    { source: '/transactions', destination: '/test/charges', permanent: false },
    { source: '/tokens', destination: '/test/settings/tokens', permanent: false },
  ],
}
