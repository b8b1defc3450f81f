import { useTranslations } from 'next-intl'

/** Names a kind of item, or how one was resolved; those of a later version by their code. */
export function useKindName(): (kind: string) => string {
  const t = useTranslations('differences')
  return kind => (t.has(`kind.${kind}` as never) ? t(`kind.${kind}` as never) : kind)
}

export function useResolutionName(): (resolution: string) => string {
  const t = useTranslations('differences')
  return name => (t.has(`resolution.${name}` as never) ? t(`resolution.${name}` as never) : name)
}

export function useFactName(): (fact: string) => string {
  const t = useTranslations('differences')
  return name => (t.has(`fact.${name}` as never) ? t(`fact.${name}` as never) : name)
}

/** The simulated bank has a name that people do not choose. */
export function useConnectionName(): (name: string) => string {
  const t = useTranslations('differences')
  return name => (name === 'simulator' ? t('simulator') : name)
}
