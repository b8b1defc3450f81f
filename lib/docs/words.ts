import type { Locale } from '#lib/core/locale.ts'
import { REFERENCE_WORDS } from '#messages/words.ts'

export type ReferenceWords = (typeof REFERENCE_WORDS)[Locale]['reference']

export function referenceWords(locale: Locale): ReferenceWords {
  return REFERENCE_WORDS[locale].reference
}
