import type { Locale } from '#lib/session/schema.ts'

/** The first of our languages in a browser's order of wishes; English for everybody else. */
export function preferredLocale(acceptLanguage: string): Locale {
  const wishes = acceptLanguage
    .split(',')
    .map(part => {
      const [tag = '', ...parameters] = part.trim().toLowerCase().split(';')
      const quality = parameters.find(parameter => parameter.trim().startsWith('q='))
      return { tag, weight: quality ? Number(quality.split('=')[1]) : 1 }
    })
    .filter(({ tag, weight }) => /^(pt|en)(-|$)/.test(tag) && weight > 0)
    .sort((one, other) => other.weight - one.weight)
  return wishes[0]?.tag.startsWith('pt') ? 'pt-BR' : 'en'
}
