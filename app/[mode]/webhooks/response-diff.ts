import type { DiffLine } from '#components/ui/code-block.tsx'

/** Headers that differ in every response and carry no information. */
const NOISE_HEADERS = /^(date|age|x-request-id|cf-ray|etag): /i

/** Returns a line diff of two responses; empty when they are equal. */
export function diffResponses(before: string, after: string): DiffLine[] {
  const [oldLines, newLines] = [before, after].map(text =>
    text.split('\n').filter(line => !NOISE_HEADERS.test(line)),
  ) as [string[], string[]]
  const lines = buildDiff(oldLines, newLines, commonLengths(oldLines, newLines))
  return lines.some(({ sign }) => sign !== ' ') ? lines : []
}

/** At [i][j]: length of the longest common subsequence of old lines from i and new from j. */
function commonLengths(oldLines: string[], newLines: string[]): number[][] {
  const lengths = Array.from({ length: oldLines.length + 1 }, () =>
    Array(newLines.length + 1).fill(0),
  )
  for (let i = oldLines.length - 1; i >= 0; i--) {
    for (let j = newLines.length - 1; j >= 0; j--) {
      const [row = [], next = []] = [lengths[i], lengths[i + 1]]
      row[j] = oldLines[i] === newLines[j] ? 1 + next[j + 1] : Math.max(next[j], row[j + 1])
    }
  }
  return lengths
}

function buildDiff(oldLines: string[], newLines: string[], lengths: number[][]): DiffLine[] {
  const lines: DiffLine[] = []
  const lengthAt = (i: number, j: number) => lengths[i]?.[j] ?? 0
  let [i, j] = [0, 0]
  while (i < oldLines.length || j < newLines.length) {
    if (i < oldLines.length && oldLines[i] === newLines[j]) {
      lines.push({ sign: ' ', text: oldLines[i++] ?? '' })
      j++
    } else if (
      i < oldLines.length &&
      (j >= newLines.length || lengthAt(i + 1, j) >= lengthAt(i, j + 1))
    ) {
      lines.push({ sign: '-', text: oldLines[i++] ?? '' })
    } else lines.push({ sign: '+', text: newLines[j++] ?? '' })
  }
  return lines
}
