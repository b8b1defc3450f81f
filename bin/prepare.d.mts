export function prepare(options: {
  pages: boolean
  tests?: boolean
  apiLane?: 'fast' | 'next'
}): Promise<void>
