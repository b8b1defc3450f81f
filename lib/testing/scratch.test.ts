import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { readProcessIdentity } from '#lib/db/embedded-server.ts'
import { pickSize } from '#lib/testing/size.ts'

/** A run that starts PostgreSQL and a program of its own, each as the tests do. */
const PROGRAM = `
  import { spawn } from 'node:child_process'
  import { openEmbedded } from '#lib/db/embedded.ts'
  import { makeScratchFolder } from '#lib/testing/scratch.ts'
  const dataFolder = makeScratchFolder('troco-interrupted-')
  const { pid } = await openEmbedded({ dataFolder, password: 'only for this test' })
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true })
  console.log(JSON.stringify({ pids: [pid, child.pid], folder: process.env.TEST_RUN_FOLDER }))
  process.on('SIGUSR2', () => process.exit(0))
  setInterval(() => {}, 1000)
`

const SIGNALS = ['SIGKILL', 'SIGINT', 'SIGTERM', 'SIGUSR2'] as const

test.each(SIGNALS.slice(0, pickSize(1, SIGNALS.length)))(
  'a run that ends by %s leaves no process and no folder behind',
  async signal => {
    const run = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM], {
      cwd: import.meta.dirname,
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, TEST_RUN_FOLDER: '' },
    })
    const [line] = await once(createInterface({ input: run.stdout }), 'line')
    const { pids, folder } = JSON.parse(line) as { pids: number[]; folder: string }
    expect(pids.map(readProcessIdentity)).not.toContain(null)
    expect(existsSync(folder)).toBe(true)
    run.kill(signal)
    const isLeft = () => [...pids.map(readProcessIdentity), existsSync(folder) || null]
    await expect.poll(isLeft, { timeout: 30_000 }).toEqual([null, null, null])
  },
)
