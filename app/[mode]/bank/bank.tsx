'use client'

import { useQueryClient } from '@tanstack/react-query'
import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { CodeForm } from '#app/[mode]/bank/code-form.tsx'
import { ConfirmPayment, type Outcome } from '#app/[mode]/bank/confirm-payment.tsx'
import { PaymentOutcome } from '#app/[mode]/bank/payment-outcome.tsx'
import { useApi } from '#components/form/api.ts'
import { Sheet } from '#components/ui/sheet.tsx'
import type { BankReading } from '#lib/dashboard/schema.ts'

interface BankProps {
  reading: BankReading | null
  code: string
}

export function Bank({ reading: initialReading, code }: BankProps) {
  const api = useApi()
  const queryClient = useQueryClient()
  const router = useRouter()
  const t = useTranslations('bank')
  const [reading, setReading] = useState(initialReading)
  const [outcome, setOutcome] = useState<Outcome | null>(null)

  async function readCode(pasted: string) {
    const query = new URLSearchParams({ code: pasted })
    const { data } = await api.get<{ data: BankReading }>(`/dashboard/bank/read?${query}`)
    setReading(data)
    return data.problem
  }

  async function decide(id: string, chosenOutcome: Outcome, idempotencyKey: string) {
    const request = { body: { outcome: chosenOutcome }, idempotencyKey }
    await api.send('POST', `/sandbox/transactions/${id}`, request)
    setOutcome(chosenOutcome)
    await queryClient.invalidateQueries({ queryKey: ['bank'] })
  }

  function restart() {
    // Clears the query of the URL. With it, a link to the same charge would not navigate.
    if (location.search) return router.push('/test/bank', { scroll: false })
    setReading(null)
    setOutcome(null)
  }

  return (
    <section aria-label={t('screen')}>
      <Sheet className="px-4 py-6 md:px-7 md:py-7">
        {!reading?.charge ? (
          <CodeForm code={code} problem={reading?.problem ?? null} readCode={readCode} />
        ) : outcome ? (
          <PaymentOutcome charge={reading.charge} outcome={outcome} restart={restart} />
        ) : (
          <ConfirmPayment {...reading} decide={decide} restart={restart} />
        )}
      </Sheet>
    </section>
  )
}
