import { useTranslations } from 'next-intl'
import { ExactTime, Money } from '#components/format/format.tsx'
import { Button } from '#components/ui/button.tsx'
import { TWO_LINES } from '#components/ui/table.tsx'
import type { Candidate } from '#lib/operator/differences/schema.ts'

interface CandidatesProps {
  candidates: Candidate[]
  chosenId: string
  onChoose: (id: string) => void
}

/** Unpaid charges that fit the payment by amount, time and document. */
export function Candidates({ candidates, chosenId, onChoose }: CandidatesProps) {
  const t = useTranslations('differences')
  if (candidates.length === 0) return null
  return (
    <section aria-label={t('candidates')}>
      <h3 className="mb-2 font-semibold text-small">{t('candidates')}</h3>
      <ul className="rounded-control border border-line">
        {candidates.map(({ id, account, amount, created_at: at, payer, is_same_payer: isSame }) => (
          <li
            key={id}
            className="flex flex-wrap items-center justify-between gap-x-3 gap-y-2 border-line px-3.5 py-2.5 not-first:border-t"
          >
            <span className="min-w-0 flex-[1_1_14rem]">
              <span className={`font-medium ${TWO_LINES}`}>
                <Money cents={amount} /> · {account.name}
              </span>
              <span className="block text-muted text-small">
                <ExactTime at={at} format="dated" /> · {payer}
                {isSame ? ` · ${t('samePayer')}` : null}
              </span>
            </span>
            <Button variant="quiet" disabled={id === chosenId} onClick={() => onChoose(id)}>
              {t('choose')}
            </Button>
          </li>
        ))}
      </ul>
    </section>
  )
}
