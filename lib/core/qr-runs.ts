/** Returns start and length of each run of dark modules in a row of a QR code. */
export function findDarkRuns(row: boolean[]): { start: number; length: number }[] {
  const text = row.map(isDark => (isDark ? '1' : '0')).join('')
  return [...text.matchAll(/1+/g)].map(({ index, 0: run }) => ({
    start: index,
    length: run.length,
  }))
}
