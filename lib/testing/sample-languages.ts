import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { findProgram, installPackages } from '#lib/testing/debian.ts'

export type Language = 'sh' | 'js' | 'python' | 'php'

interface Runner {
  program: () => string
  args: (source: string) => string[]
  /** Lets a part of a program use names that another part uses, too. */
  scope: (source: string) => string
  join: (parts: string[]) => string
}

const programs: Partial<Record<Language, string>> = {}

function runner(language: Language, flags: string[], more: Partial<Runner> = {}): Runner {
  return {
    program: () => programs[language] ?? language,
    args: source => [...flags, source],
    scope: source => source,
    join: parts => parts.join('\n'),
    ...more,
  }
}

/** How a test runs the samples of the documentation. A sample that fails ends its program with an error. */
export const LANGUAGES: Record<Language, Runner> = {
  sh: runner('sh', ['-e', '-c'], {
    join: parts => [CURL_THAT_FAILS, ...parts].join('\n'),
  }),
  js: runner('js', ['--input-type=module', '-e'], {
    join: ([first = '', ...others]) => [first, ...others.map(part => `{\n${part}\n}`)].join('\n'),
  }),
  python: runner('python', ['-c']),
  php: runner('php', ['-r'], { scope: source => source.replaceAll(/^<\?php\s*$/gm, '') }),
}

const CURL_THAT_FAILS = 'curl() { command curl --silent --show-error --fail-with-body "$@"; echo; }'

/** Returns the samples of a guide in one language, in order. */
export function readSamples(guide: string, locale: string, language: Language): string[] {
  const text = readFileSync(`docs/guides/${locale}/${guide}.md`, 'utf8')
  const fences = text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))
  return [...fences].map(([, code = '']) => code)
}

/** Finds Python with requests and PHP with curl, or installs Debian's packages of them. */
export async function prepareLanguages(): Promise<void> {
  programs.sh = (await findProgram('bash', ['bash'])) ?? 'bash'
  programs.js = process.execPath
  programs.python = await findWith('python3', ['-c', 'import requests'], ['python3-requests'])
  programs.php = await findWith('php', ['-r', 'curl_version();'], ['php-cli', 'php-curl'])
}

async function findWith(program: string, probe: string[], packages: string[]): Promise<string> {
  const found = await findProgram(packages[0] ?? '', [program])
  if (found && succeeds(found, probe)) return found
  await installPackages(packages)
  if (succeeds(program, probe)) return program
  throw new Error(`The samples need ${program}: install ${packages.join(' and ')}`)
}

function succeeds(program: string, args: string[]): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
