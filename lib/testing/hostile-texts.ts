/** Tokens of a regular expression, as far as hostile texts need them. */
const TOKEN =
  /\\[pPu]\{[^}]{1,40}\}|\\k<\w{1,40}>|\\.|\(\?(?:[:=!]|<[=!]|<\w{1,40}>)|\{\d{1,5}(?:,\d{0,5})?\}|\[\^?|./gsu
const UNBOUNDED = /^([*+]|\{\d+,\})$/
/** A character that the escape matches; none for a position. */
const ESCAPED: Record<string, string> = {
  d: '1',
  D: 'a',
  w: 'a',
  W: '-',
  s: ' ',
  S: 'a',
  b: '',
  B: '',
  p: 'a',
  P: '-',
  u: 'a',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  f: '\f',
  0: '\0',
  k: '',
}
const SYNTAX = /^([()|^$*+?\]]|\[\^?|\(\?.+|\{\d.*\})$/s

interface Parts {
  /** A character for each token and class. */
  characters: Set<string>
  words: Set<string>
  /** Texts that match up to a repetition without an upper bound. */
  beginnings: Set<string>
}

/** Reads which characters a pattern tells apart, and what leads to its repetitions. */
function readParts(pattern: string): Parts {
  const parts: Parts = { characters: new Set(), words: new Set(), beginnings: new Set() }
  let [isInClass, word, before, matched] = [false, '', '', '']
  for (const [token] of pattern.matchAll(TOKEN)) {
    if (UNBOUNDED.test(token) && !isInClass) parts.beginnings.add(before)
    const isOpening = !isInClass && token.startsWith('[')
    const isClosing = isInClass && token === ']'
    const isPlain = isInClass ? !isClosing : !SYNTAX.test(token)
    const character = isPlain ? characterOf(token) : token === '[^' ? '!' : ''
    if (character !== '') parts.characters.add(character)
    word = isPlain && !isInClass ? word + character : ''
    if (word.length > 1) parts.words.add(word)
    // A class adds its first character only.
    if (isOpening || !isInClass || matched === before) {
      if (!isInClass || isOpening) before = matched
      matched += character
    }
    isInClass = (isInClass || isOpening) && !isClosing
  }
  return parts
}

function characterOf(token: string): string {
  if (token === '.') return 'x'
  return token.startsWith('\\') ? (ESCAPED[token[1] ?? ''] ?? token[1] ?? '') : token
}

/**
 * Yields texts on which a backtracking engine takes quadratic time or more, if the pattern allows it:
 * repetitions of what the pattern tells apart, after what it begins with, before what it refuses.
 */
export function* hostileTexts(pattern: string, length: number): Generator<string> {
  const { characters, words, beginnings } = readParts(pattern)
  if (beginnings.size === 0) return
  const singles = [...characters].slice(0, 24)
  const pairs = singles.slice(0, 8).flatMap(one => singles.slice(0, 8).map(other => one + other))
  for (const pump of new Set([...singles, ...[...words].slice(-12), ...pairs])) {
    for (const beginning of new Set(['', '\x01', ...beginnings])) {
      for (const end of ['', '\0 \0', '\n\n'])
        yield beginning + pump.repeat(length / pump.length) + end
    }
  }
}
