import { useTranslations } from 'next-intl'
import { CodeBlock } from '#components/ui/code-block.tsx'
import { CopyButton } from '#components/ui/copy.tsx'
import { Section } from '#components/ui/sheet.tsx'

interface BodySectionProps {
  title: string
  body: unknown
  bytes: number
  /** Names of the fields whose values are masked. */
  masked: string[]
}

/** Shows a stored body, or a sentence that says why none is stored. */
export function BodySection({ title, body, bytes, masked }: BodySectionProps) {
  const t = useTranslations('requests')
  if (body === null) {
    return (
      <Section title={title}>
        <p className="text-muted">{bytes > 0 ? t('notStored', { bytes }) : t('noBody')}</p>
      </Section>
    )
  }
  const text = JSON.stringify(body, null, 2)
  return (
    <Section
      title={title}
      aside={<CopyButton text={text} label={t('copy')} variant="plain" className="text-small" />}
    >
      <p className="-mt-2 text-muted text-small">
        {masked.length > 0 ? t('masked', { names: masked.join(', ') }) : t('nothingMasked')}
      </p>
      <CodeBlock label={title} text={text} />
    </Section>
  )
}
