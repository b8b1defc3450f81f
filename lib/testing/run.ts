import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { inheritedEnv } from '#lib/base/env.ts'

/** Runs a program to its end with inherited output; returns its exit code. */
export async function runProgram(
  program: string,
  args: string[],
  settings: Record<string, string> = {},
): Promise<number> {
  const child = spawn(program, args, {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...inheritedEnv(), ...settings },
  })
  const [code] = await once(child, 'exit')
  return code ?? 1
}
