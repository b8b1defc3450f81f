import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { inheritedEnv } from '#lib/core/settings.ts'

/** Runs a program to its end; returns its exit code. Its output is inherited or appended to a file. */
export async function runProgram(
  program: string,
  args: string[],
  settings: Record<string, string> = {},
  outputFile: string | null = null,
): Promise<number> {
  const output = outputFile === null ? 'inherit' : openSync(outputFile, 'a')
  const child = spawn(program, args, {
    stdio: ['ignore', output, output],
    env: { ...inheritedEnv(), ...settings },
  })
  if (output !== 'inherit') closeSync(output)
  const [code] = await once(child, 'exit')
  return code ?? 1
}
