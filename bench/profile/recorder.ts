/**
 * CPU profiler, preloaded into a server with `--import`. The parent process starts and stops it by
 * messages.
 */
import { writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'

const SAMPLE_INTERVAL_US = 200

const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.setSamplingInterval', { interval: SAMPLE_INTERVAL_US })

let cpuBefore: NodeJS.CpuUsage | undefined

process.on('message', async (message: { record?: 'start' | 'stop'; file?: string }) => {
  if (message.record === 'start') {
    await session.post('Profiler.start')
    cpuBefore = process.threadCpuUsage()
  }
  if (message.record !== 'stop' || !message.file) return
  const { user, system } = process.threadCpuUsage(cpuBefore)
  const { profile } = await session.post('Profiler.stop')
  writeFileSync(message.file, JSON.stringify(profile))
  process.send?.({ cpuUs: user + system })
})
