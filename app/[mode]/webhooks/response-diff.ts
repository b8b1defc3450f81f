export interface DiffLine {
  sign: '+' | '-' | ' '
  text: string
}

/** Headers that differ in every response and carry no information. */
const NOISE_HEADERS = /^(date|age|x-request-id|cf-ray|etag): /i

/** Returns a line diff of two responses; empty when they are equal. */
export function diffResponses(before: string, after: string): DiffLine[] {
  const [old, now] = [before, after].map(text =>
    text.split('\n').filter(line => !NOISE_HEADERS.test(line)),
  ) as [string[], string[]]
  const lines = buildDiff(old, now, commonLengths(old, now))
  return lines.some(({ sign }) => sign !== ' ') ? lines : []
}

/**
 * At [i][j]: length of the longest common subsequence of the old lines from i and the new from j.
 */
function commonLengths(old: string[], now: string[]): number[][] {
  const lengths = Array.from({ length: old.length + 1 }, () => Array(now.length + 1).fill(0))
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      const [row = [], next = []] = [lengths[i], lengths[i + 1]]
      row[j] = old[i] === now[j] ? 1 + next[j + 1] : Math.max(next[j], row[j + 1])
    }
  }
  return lengths
}

function buildDiff(old: string[], now: string[], lengths: number[][]): DiffLine[] {
  const lines: DiffLine[] = []
  const lengthAt = (i: number, j: number) => lengths[i]?.[j] ?? 0
  let [i, j] = [0, 0]
  while (i < old.length || j < now.length) {
    if (i < old.length && old[i] === now[j]) {
      lines.push({ sign: ' ', text: old[i++] ?? '' })
      j++
    } else if (i < old.length && (j >= now.length || lengthAt(i + 1, j) >= lengthAt(i, j + 1))) {
      lines.push({ sign: '-', text: old[i++] ?? '' })
    } else lines.push({ sign: '+', text: now[j++] ?? '' })
  }
  return lines
}
