export function prepare(options: {
  pages: boolean
  tests?: boolean
  apiServer?: 'front' | 'next'
}): Promise<void>
