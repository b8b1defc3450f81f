export const LOCALES = ['pt-BR', 'en'] as const
export type Locale = (typeof LOCALES)[number]

/** Returns the language that a browser prefers of the two; English where it prefers neither. */
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
