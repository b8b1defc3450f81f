import { writeSync } from 'node:fs'

/** A line of a request waits this long for others, because a line of its own costs a system call. */
const GATHER_MS = 20
/** Log that waits for its reader; what exceeds it is dropped. */
const WAITING_BYTES_MAX = 4 * 1024 * 1024
const RETRY_MS = 20
/** Time for the reader to take what still waits when the process exits. */
const EXIT_WAIT_MS = 1_000

export interface LogOutput {
  write: (line: string) => void
  /** Writes the line with the ones that follow within 20 ms. Lost with a process that dies without exit handlers. */
  writeSoon: (line: string) => void
}

/**
 * Writes without waiting for the reader, who must not be able to stop the server. Only a named pipe that
 * was opened to block can. Lines that found no room are counted in a line of their own.
 */
export function openLogOutput(fd: number): LogOutput {
  let lines: string[] = []
  let linesLength = 0
  let droppedCount = 0
  /** Rest of the lines that were taken last. */
  let unwritten = Buffer.alloc(0)
  /** The reader has left no room, so the next attempt waits for the timer. */
  let isBlocked = false
  let timer: NodeJS.Timeout | undefined

  function write(line: string): void {
    keep(line)
    if (!isBlocked) flush()
  }

  function writeSoon(line: string): void {
    keep(line)
    timer ??= setTimeout(flush, GATHER_MS).unref()
  }

  function keep(line: string): void {
    if (linesLength + unwritten.length > WAITING_BYTES_MAX) return void droppedCount++
    lines.push(line)
    linesLength += line.length
  }

  function flush(): void {
    clearTimeout(timer)
    isBlocked = !writeWaiting()
    timer = isBlocked ? setTimeout(flush, RETRY_MS).unref() : undefined
  }

  /** Returns whether nothing waits any more. Without a reader or room on the disk, drops it. */
  function writeWaiting(): boolean {
    try {
      for (;;) {
        if (unwritten.length === 0) unwritten = Buffer.from(takeLines())
        if (unwritten.length === 0) return true
        unwritten = unwritten.subarray(writeSync(fd, unwritten))
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return false
      unwritten = Buffer.alloc(0)
      return true
    }
  }

  function takeLines(): string {
    const taken = lines.join('') + (droppedCount > 0 ? describeDropped(droppedCount) : '')
    lines = []
    linesLength = 0
    droppedCount = 0
    return taken
  }

  process.once('exit', () => {
    const endsAt = performance.now() + EXIT_WAIT_MS
    const pause = new Int32Array(new SharedArrayBuffer(4))
    while (!writeWaiting() && performance.now() < endsAt) Atomics.wait(pause, 0, 0, RETRY_MS)
  })
  return { write, writeSoon }
}

function describeDropped(dropped: number): string {
  const msg = 'log lines dropped, because nobody read them'
  return `${JSON.stringify({ level: 'warn', time: new Date().toISOString(), dropped, msg })}\n`
}
