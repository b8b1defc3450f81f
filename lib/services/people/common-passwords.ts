import type { ZxcvbnFactory } from '@zxcvbn-ts/core'
import { invalidInput } from '#lib/base/errors.ts'
import { isPasswordLength, PASSWORD_MAX, PASSWORD_MIN } from '#lib/services/people/schema.ts'

/**
 * Ten wrong ones are allowed in a quarter of an hour, 350,000 a year: a hundred million guesses are
 * beyond whoever tries at our door, and with what a try costs they are 46 days of one core offline.
 */
const GUESSES_MIN = 1e8
/** The estimate takes longer the longer a password is, and after so many it says nothing new. */
const LOOKED_AT_MAX = 64
/** What must be left of a password without the words about whoever chose it. */
const OWN_MIN = 6

/** What the list, which is English, lacks: first what is tried first in Brazil. */
const WORDS_HERE =
  'senha mudar mudei brasil flamengo corinthians palmeiras saopaulo gremio internacional cruzeiro santos vasco botafogo minha nova teste usuario acesso entrar sistema empresa admin deus jesus amor familia teamo felicidade vitoria saudade dinheiro banco cobranca pagamento pix troco'.split(
    ' ',
  )
/** Words that stand for a password rather than make one. */
const SAYS_NOTHING = ['troco', 'senha', 'password', 'pix', 'admin', 'mudar']

const EASY =
  'is easy to guess: leave out names, e-mails and dates, and use four words that have nothing in common'

interface Chooser {
  email: string
  name?: string
}

/** Refuses a password that somebody else would guess, and says what to choose instead. */
export async function requireGoodPassword(password: string, about: Chooser): Promise<void> {
  if (!isPasswordLength(password)) {
    throw invalidInput('password', `must have ${PASSWORD_MIN} to ${PASSWORD_MAX} characters`)
  }
  const words = wordsAbout(about)
  const looked = password.normalize('NFKC').slice(0, LOOKED_AT_MAX)
  const { guesses } = (await judge()).check(looked, words)
  if (guesses >= GUESSES_MIN && withoutWords(password, words).length >= OWN_MIN) return
  throw invalidInput('password', EASY)
}

let ready: Promise<ZxcvbnFactory> | undefined

/** 11 MB, which a process that nobody chooses a password in goes without. */
function judge(): Promise<ZxcvbnFactory> {
  ready ??= loadJudge()
  return ready
}

async function loadJudge(): Promise<ZxcvbnFactory> {
  const [{ ZxcvbnFactory }, common] = await Promise.all([
    import('@zxcvbn-ts/core'),
    import('@zxcvbn-ts/language-common'),
  ])
  const { adjacencyGraphs: graphs, dictionary } = common
  return new ZxcvbnFactory({ graphs, dictionary: { ...dictionary, here: WORDS_HERE } })
}

/** The parts of a name and an e-mail, as letters without accents. */
function wordsAbout({ email, name = '' }: Chooser): string[] {
  const parts = plain(`${email} ${name}`).split(/[^a-z0-9]+/)
  const words = [...SAYS_NOTHING, ...parts.filter(part => part.length > 2)]
  return [...new Set(words)].sort((one, other) => other.length - one.length)
}

function withoutWords(password: string, words: string[]): string {
  const bare = words.reduce((left, word) => left.replaceAll(word, ' '), plain(password))
  // A year, a row of digits and the signs that somebody appends are no word of their own.
  return bare.replace(/\d{4,}/g, ' ').replace(/[\s\p{P}\p{S}]/gu, '')
}

function plain(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
}
