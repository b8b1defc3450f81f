'use client'

import { useMutation } from '@tanstack/react-query'
import { CircleAlert, Download, Printer } from 'lucide-react'
import { useLocale, useTranslations } from 'next-intl'
import { fileNameOf, saveAs } from '#components/api/client.ts'
import { useProblemText } from '#components/api/problem.tsx'
import { useApi } from '#components/api/use-api.ts'
import { Button } from '#components/ui/button.tsx'
import { Notice } from '#components/ui/sheet.tsx'
import { LOCALES, type Locale } from '#lib/core/locale.ts'

interface ReceiptActionsProps {
  /** Endpoint of the PDF. */
  path: `/dashboard/${'charges' | 'withdrawals'}/[id]/receipt`
  id: string
}

export function ReceiptActions({ path, id }: ReceiptActionsProps) {
  const t = useTranslations('receipt')
  const api = useApi()
  const locale = useLocale()
  const problemText = useProblemText()
  const download = useMutation({
    mutationFn: async (language: Locale) => {
      const response = await api.fetchRaw(path, { params: { id }, query: { locale: language } })
      saveAs(await response.blob(), fileNameOf(response, 'receipt.pdf'))
    },
  })
  const others = LOCALES.filter(other => other !== locale)
  return (
    <>
      {others.map(other => (
        <Button
          key={other}
          variant="plain"
          onClick={() => download.mutate(other)}
          disabled={download.isPending}
        >
          {t(`pdfIn.${other}`)}
        </Button>
      ))}
      <Button variant="quiet" onClick={() => print()}>
        <Printer size={16} aria-hidden />
        {t('print')}
      </Button>
      <Button
        variant="primary"
        onClick={() => download.mutate(locale)}
        disabled={download.isPending}
      >
        <Download size={16} aria-hidden />
        {download.isPending ? t('saving') : t('pdf')}
      </Button>
      <span role="status" className="sr-only">
        {download.isSuccess ? t('saved') : ''}
      </span>
      {download.error ? (
        <div className="order-last w-full">
          <Notice tone="bad" icon={CircleAlert} role="alert">
            {problemText(download.error)}
          </Notice>
        </div>
      ) : null}
    </>
  )
}
