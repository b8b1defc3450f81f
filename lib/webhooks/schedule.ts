const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

const RESOURCE_PAUSES_MS = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR]
const ENDPOINT_PAUSES_MS = [5 * SECOND, 5 * MINUTE, 30 * MINUTE]

/** Jitter: receivers that failed together must not be retried together. */
const JITTER = 0.2

type Target = 'resource' | 'endpoint'

/** Returns the pauses in seconds, without jitter, after attempt `attempt` and each later one. */
export function pausesAfterS(target: Target, attempt: number): number[] {
  return pausesOf(target)
    .slice(attempt - 1)
    .map(pauseMs => pauseMs / SECOND)
}

function pausesOf(target: Target): number[] {
  return target === 'endpoint' ? ENDPOINT_PAUSES_MS : RESOURCE_PAUSES_MS
}

/** Attempts count from 1; null after the last. A longer Retry-After of the receiver wins. */
export function nextPauseMs(
  target: Target,
  attempt: number,
  retryAfterMs: number | null,
): number | null {
  const pauseMs = pausesOf(target)[attempt - 1]
  if (pauseMs === undefined) return null
  const jittered = pauseMs * (1 + JITTER * (2 * Math.random() - 1))
  return Math.max(jittered, retryAfterMs ?? 0)
}
