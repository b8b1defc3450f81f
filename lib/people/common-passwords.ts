import type { ZxcvbnFactory } from '@zxcvbn-ts/core'
import { invalidInput } from '#lib/core/errors.ts'
import { isPasswordLength, PASSWORD_MAX, PASSWORD_MIN } from '#lib/people/schema.ts'

/**
 * Minimum estimated guesses. Online, 10 failures per 15 minutes allow 350,000 a year; offline, 100
 * million guesses at 40 ms each take 46 days of one core.
 */
const GUESSES_MIN = 1e8
/** Maximum characters that are estimated: more take longer and add no information. */
const ESTIMATED_LENGTH_MAX = 64
/** Minimum characters that a password must have besides words about its user. */
const OWN_CHARACTERS_MIN = 6

/** Common words in Brazilian passwords that the English list lacks, the most common first. */
const BRAZILIAN_WORDS =
  'senha mudar mudei brasil flamengo corinthians palmeiras saopaulo gremio internacional cruzeiro santos vasco botafogo minha nova teste usuario acesso entrar sistema empresa admin deus jesus amor familia teamo felicidade vitoria saudade dinheiro banco cobranca pagamento pix troco'.split(
    ' ',
  )
const WEAK_WORDS = ['troco', 'senha', 'password', 'pix', 'admin', 'mudar']

const EASY_MESSAGE =
  'is easy to guess: use four unrelated words, without names, e-mail addresses or dates'

interface PasswordOwner {
  email: string
  name?: string
}

export async function requireGoodPassword(password: string, owner: PasswordOwner): Promise<void> {
  if (!isPasswordLength(password)) {
    throw invalidInput('password', `must have ${PASSWORD_MIN} to ${PASSWORD_MAX} characters`)
  }
  const words = listWeakWords(owner)
  const estimated = password.normalize('NFKC').slice(0, ESTIMATED_LENGTH_MAX)
  const { guesses } = (await getEstimator()).check(estimated, words)
  if (guesses >= GUESSES_MIN && removeWords(password, words).length >= OWN_CHARACTERS_MIN) return
  throw invalidInput('password', EASY_MESSAGE)
}

let estimator: Promise<ZxcvbnFactory> | undefined

/** Loads the estimator on first use: it needs 11 MB, and most processes never use it. */
function getEstimator(): Promise<ZxcvbnFactory> {
  estimator ??= loadEstimator()
  return estimator
}

async function loadEstimator(): Promise<ZxcvbnFactory> {
  const [{ ZxcvbnFactory }, common] = await Promise.all([
    import('@zxcvbn-ts/core'),
    import('@zxcvbn-ts/language-common'),
  ])
  const { adjacencyGraphs: graphs, dictionary } = common
  return new ZxcvbnFactory({ graphs, dictionary: { ...dictionary, here: BRAZILIAN_WORDS } })
}

function listWeakWords({ email, name = '' }: PasswordOwner): string[] {
  const parts = foldAccents(`${email} ${name}`).split(/[^a-z0-9]+/)
  const words = [...WEAK_WORDS, ...parts.filter(part => part.length > 2)]
  return [...new Set(words)].sort((one, other) => other.length - one.length)
}

function removeWords(password: string, words: string[]): string {
  const ownCharacters = words.reduce(
    (remaining, word) => remaining.replaceAll(word, ' '),
    foldAccents(password),
  )
  // Years, digit sequences and punctuation do not count as own characters.
  return ownCharacters.replace(/\d{4,}/g, ' ').replace(/[\s\p{P}\p{S}]/gu, '')
}

function foldAccents(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
}
