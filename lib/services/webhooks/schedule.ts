const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** The pauses before each try after the first. */
const RESOURCE_PAUSES_MS = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR]
const ENDPOINT_PAUSES_MS = [5 * SECOND, 5 * MINUTE, 30 * MINUTE]

/** Receivers that failed together must not all be called again together. */
const JITTER = 0.2

type Target = 'resource' | 'endpoint'

/** The usual pauses between this try and each one after it, should they all fail. */
export function pausesAfterS(target: Target, tried: number): number[] {
  return pausesOf(target)
    .slice(tried - 1)
    .map(pauseMs => pauseMs / SECOND)
}

function pausesOf(target: Target): number[] {
  return target === 'endpoint' ? ENDPOINT_PAUSES_MS : RESOURCE_PAUSES_MS
}

/**
 * How long to wait after the failure of a try (the first is 1); null: that was the last. A receiver
 * that asks for a longer pause gets it.
 */
export function nextPauseMs(
  target: Target,
  tried: number,
  retryAfterMs: number | null,
): number | null {
  const pauseMs = pausesOf(target)[tried - 1]
  if (pauseMs === undefined) return null
  const varied = pauseMs * (1 + JITTER * (2 * Math.random() - 1))
  return Math.max(varied, retryAfterMs ?? 0)
}
