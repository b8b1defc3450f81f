import { SearchX } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { EmptyState, Sheet } from '#components/ui/sheet.tsx'

export default function RecordNotFound() {
  const t = useTranslations('notFound')
  return (
    <Sheet className="mt-2">
      <h1 className="sr-only">{t('title')}</h1>
      <EmptyState icon={SearchX} title={t('title')} text={t('here')} />
    </Sheet>
  )
}
