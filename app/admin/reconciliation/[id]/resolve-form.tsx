'use client'

import { useMutation } from '@tanstack/react-query'
import { Paperclip } from 'lucide-react'
import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Problem } from '#components/api/problem.tsx'
import { useApi } from '#components/api/use-api.ts'
import { useForm } from '#components/form/form.tsx'
import { ExactTime, Money } from '#components/format/format.tsx'
import { Button } from '#components/ui/button.tsx'
import { Fact, Facts } from '#components/ui/details.tsx'
import { Field } from '#components/ui/field.tsx'
import { lazyDialog } from '#components/ui/lazy-dialog.ts'
import { TWO_LINES } from '#components/ui/table.tsx'
import type { Entry } from '#lib/differences/states.ts'
import {
  type Candidate,
  type Correction,
  type CorrectionParty,
  type DifferenceDetail,
  resolveRequest,
} from '#lib/operator/differences/schema.ts'

/** Settles the item: the suggested entry is chosen at first, the person may choose another. */
export function ResolveForm({ item }: { item: DifferenceDetail }) {
  const t = useTranslations('differences')
  const tReason = useTranslations('adminDeed')
  const api = useApi()
  const router = useRouter()
  const { suggestion, entries, evidence } = item
  const [entry, setEntry] = useState<Entry>(suggestion.entry)
  const [chargeId, setChargeId] = useState(suggestion.transaction_id ?? '')
  const form = useForm({
    schema: resolveRequest,
    read: data => {
      const read = (name: string) => String(data.get(name) ?? '').trim() || undefined
      const target = { account_id: read('account_id'), transaction_id: read('transaction_id') }
      return { entry, reason: read('reason'), ...target }
    },
    send: async body => {
      await api.post('/admin/differences/[id]/resolve', { params: { id: item.id }, body })
      router.refresh()
    },
  })
  const { problems } = form
  return (
    <form {...form.props} className="grid max-w-[640px] grid-cols-[minmax(0,1fr)] gap-5">
      <p>{t(`why.${suggestion.why}`)}</p>
      <EntryChoice entries={entries} chosen={entry} onChoose={setEntry} />
      {entry === 'credit' ? (
        <Field
          label={t('accountId')}
          name="account_id"
          autoComplete="off"
          defaultValue={suggestion.account_id ?? ''}
          hint={evidence.account?.name}
          problem={problems.account_id ? t('accountIdInvalid') : null}
        />
      ) : null}
      {entry === 'match' ? (
        <>
          <Candidates candidates={evidence.candidates} chosenId={chargeId} onChoose={setChargeId} />
          <Field
            label={t('transactionId')}
            name="transaction_id"
            autoComplete="off"
            value={chargeId}
            onChange={event => setChargeId(event.target.value)}
            problem={problems.transaction_id ? t('transactionIdInvalid') : null}
          />
        </>
      ) : null}
      <Field
        label={t('reason')}
        name="reason"
        maxLength={200}
        autoComplete="off"
        hint={t('reasonHint')}
        problem={problems.reason ? tReason('reasonInvalid') : null}
      />
      <Problem error={form.failure} />
      <div>
        <Button variant="primary" type="submit" disabled={form.isBusy}>
          {form.isBusy ? tReason('busy') : t('settle')}
        </Button>
      </div>
    </form>
  )
}

interface EntryChoiceProps {
  entries: Entry[]
  chosen: Entry
  onChoose: (entry: Entry) => void
}

function EntryChoice({ entries, chosen, onChoose }: EntryChoiceProps) {
  const t = useTranslations('differences')
  return (
    <fieldset className="grid min-w-0 gap-2.5">
      <legend className="sr-only">{t('decide')}</legend>
      {entries.map(entry => (
        <label
          key={entry}
          className="flex cursor-pointer gap-3 rounded-control border border-line2 px-3.5 py-3 has-checked:border-accent has-checked:bg-accent-soft"
        >
          <input
            type="radio"
            name="entry"
            value={entry}
            checked={entry === chosen}
            onChange={() => onChoose(entry)}
            className="mt-1 shrink-0 accent-accent"
          />
          <span className="min-w-0">
            <span className="block font-semibold">{t(`entry.${entry}`)}</span>
            <span className="block text-muted text-small">{t(`entryText.${entry}`)}</span>
          </span>
        </label>
      ))}
    </fieldset>
  )
}

interface CandidatesProps {
  candidates: Candidate[]
  chosenId: string
  onChoose: (id: string) => void
}

/** Unpaid charges that fit the payment by amount, time and document. */
function Candidates({ candidates, chosenId, onChoose }: CandidatesProps) {
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

const CorrectionDialog = lazyDialog(
  () => import('#app/admin/reconciliation/[id]/correction-dialog.tsx'),
  'CorrectionDialog',
)

/** Opens the form of an entry that settles the difference. */
export function ProposeCorrection({ item }: { item: DifferenceDetail }) {
  const t = useTranslations('corrections')
  const [isOpen, setOpen] = useState(false)
  const { correction_terms: terms } = item
  if (!terms) return null
  return (
    <>
      <p className="mb-4 text-muted text-small">{t('text')}</p>
      <Button variant="quiet" onClick={() => setOpen(true)}>
        {t('open')}
      </Button>
      {isOpen ? (
        <CorrectionDialog item={item} terms={terms} onClose={() => setOpen(false)} />
      ) : null}
    </>
  )
}

interface CorrectionsProps {
  itemId: string
  corrections: Correction[]
}

/** Entries of two admins about a difference: one that waits for the second, and those that are booked. */
export function Corrections({ itemId, corrections }: CorrectionsProps) {
  return corrections.map(correction => (
    <div key={correction.id} className="grid gap-4">
      <CorrectionFacts itemId={itemId} correction={correction} />
      {correction.expires_at ? <Approval itemId={itemId} correction={correction} /> : null}
    </div>
  ))
}

interface CorrectionProps {
  itemId: string
  correction: Correction
}

function CorrectionFacts({ itemId, correction }: CorrectionProps) {
  const t = useTranslations('corrections')
  const { id, from, to, amount, reason, proposed_by: first, approved_by: second } = correction
  return (
    <Facts>
      <Fact name={t('amount')}>
        <span className="font-semibold">
          <Money cents={amount} />
        </span>
      </Fact>
      <Fact name={t('from')}>
        <PartyName party={from} />
      </Fact>
      <Fact name={t('to')}>
        <PartyName party={to} />
      </Fact>
      <Fact name={t('reason')}>
        <span className="break-words">{reason}</span>
      </Fact>
      <Fact name={t('attachment')}>
        <a
          href={`/api/admin/differences/${itemId}/corrections/${id}/attachment`}
          download
          className="inline-flex min-h-6 items-center gap-1.5 font-semibold text-accent hover:underline"
        >
          <Paperclip size={14} aria-hidden />
          {t('download')}
        </a>
      </Fact>
      <Fact name={t('proposedBy')}>{first ?? t('host')}</Fact>
      {correction.booked_at ? (
        <>
          <Fact name={t('approvedBy')}>{second ?? t('host')}</Fact>
          <Fact name={t('bookedAt')}>
            <ExactTime at={correction.booked_at} format="dated" />
          </Fact>
        </>
      ) : null}
    </Facts>
  )
}

function PartyName({ party }: { party: CorrectionParty }) {
  const t = useTranslations('corrections')
  if (party.id === 'bank' || party.id === 'operator') return t(`party.${party.id}`)
  return <span className="break-words">{party.name}</span>
}

function Approval({ itemId, correction }: CorrectionProps) {
  const t = useTranslations('corrections')
  const api = useApi()
  const router = useRouter()
  const approval = useMutation({
    mutationFn: () =>
      api.post('/admin/differences/[id]/corrections/[correction_id]/approve', {
        params: { id: itemId, correction_id: correction.id },
      }),
    onSuccess: () => router.refresh(),
  })
  const { can_approve: canApprove, expires_at: expiresAt } = correction
  return (
    <>
      <p className="text-small">
        {canApprove ? t('approveText') : t('otherText')} {t('until')}{' '}
        {expiresAt ? <ExactTime at={expiresAt} format="dated" /> : null}.
      </p>
      <Problem error={approval.error} />
      {canApprove ? (
        <div>
          <Button variant="primary" disabled={approval.isPending} onClick={() => approval.mutate()}>
            {t('approve')}
          </Button>
        </div>
      ) : null}
    </>
  )
}
