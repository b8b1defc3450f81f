'use client'

import { useRouter } from 'next/navigation'
import { useLocale, useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApi } from '#components/api/use-api.ts'
import { FileField } from '#components/form/file-field.tsx'
import { useForm } from '#components/form/form.tsx'
import { Money } from '#components/format/format.tsx'
import { Fact, Facts } from '#components/ui/details.tsx'
import { Dialog, DialogActions } from '#components/ui/dialog.tsx'
import { Field, Select } from '#components/ui/field.tsx'
import { MoneyField } from '#components/ui/money-field.tsx'
import { ATTACHMENT_TYPES } from '#lib/core/attachments.ts'
import { readReais } from '#lib/core/money.ts'
import { BANK, type CorrectionTerms, OPERATOR } from '#lib/differences/states.ts'
import { correctionRequest, type DifferenceDetail } from '#lib/operator/differences/schema.ts'

const ACCOUNT = 'account'

interface CorrectionDialogProps {
  item: DifferenceDetail
  terms: CorrectionTerms
  onClose: () => void
}

/** Proposes an entry that settles the difference. What the difference itself decides cannot be chosen. */
export function CorrectionDialog({ item, terms, onClose }: CorrectionDialogProps) {
  const t = useTranslations('corrections')
  const tReason = useTranslations('adminDeed')
  const api = useApi()
  const router = useRouter()
  const locale = useLocale()
  const form = useForm({
    schema: correctionRequest,
    read: data => {
      const read = (name: string) => String(data.get(name) ?? '').trim() || undefined
      const readParty = (name: 'from' | 'to') => {
        const party = terms[name] ?? read(name)
        return party === ACCOUNT ? read(`${name}_account`) : party
      }
      const amount = terms.amount ?? readReais(read('amount') ?? '', locale).amount ?? undefined
      const attachment = read('attachment')
      return {
        from: readParty('from'),
        to: readParty('to'),
        amount,
        reason: read('reason'),
        attachment,
      }
    },
    send: async body => {
      await api.post('/admin/differences/[id]/corrections', { params: { id: item.id }, body })
      router.refresh()
      onClose()
    },
  })
  const { problems } = form
  const accountId = item.evidence.account?.id
  return (
    <Dialog onClose={onClose} title={t('title')} description={t('text')}>
      <form {...form.props} className="grid grid-cols-[minmax(0,1fr)] gap-5">
        <PartyField name="from" terms={terms} accountId={accountId} hasProblem={!!problems.from} />
        <PartyField name="to" terms={terms} accountId={accountId} hasProblem={!!problems.to} />
        {terms.amount === null ? (
          <MoneyField
            label={t('amount')}
            name="amount"
            problem={problems.amount ? t('amountInvalid') : null}
          />
        ) : (
          <Facts>
            <Fact name={t('amount')}>
              <span className="font-semibold">
                <Money cents={terms.amount} />
              </span>
            </Fact>
          </Facts>
        )}
        <Field
          label={t('reason')}
          id="correction_reason"
          name="reason"
          maxLength={200}
          autoComplete="off"
          hint={t('reasonHint')}
          problem={problems.reason ? tReason('reasonInvalid') : null}
        />
        <FileField
          label={t('attachment')}
          name="attachment"
          accept={ATTACHMENT_TYPES.join(',')}
          as="base64"
          hint={t('attachmentHint')}
          problem={problems.attachment ? t('attachmentInvalid') : null}
        />
        <DialogActions
          action={t('propose')}
          busy={tReason('busy')}
          isBusy={form.isBusy}
          failure={form.failure}
          onCancel={onClose}
        />
      </form>
    </Dialog>
  )
}

interface PartyFieldProps {
  name: 'from' | 'to'
  terms: CorrectionTerms
  /** Account that the item is about. */
  accountId: string | undefined
  hasProblem: boolean
}

function PartyField({ name, terms, accountId, hasProblem }: PartyFieldProps) {
  const t = useTranslations('corrections')
  const [chosen, setChosen] = useState(accountId ? ACCOUNT : OPERATOR)
  const fixed = terms[name]
  if (fixed === BANK || fixed === OPERATOR)
    return (
      <Facts>
        <Fact name={t(name)}>{t(`party.${fixed}`)}</Fact>
      </Facts>
    )
  const parties = [...(terms.isWithBank && terms.amount === null ? [BANK] : []), OPERATOR, ACCOUNT]
  return (
    <>
      <Select
        label={t(name)}
        name={name}
        value={chosen}
        onChange={event => setChosen(event.target.value)}
        problem={hasProblem && chosen !== ACCOUNT ? t('partyInvalid') : null}
      >
        {parties.map(party => (
          <option key={party} value={party}>
            {t(`party.${party}` as 'party.bank')}
          </option>
        ))}
      </Select>
      {chosen === ACCOUNT ? (
        <Field
          label={t(`${name}Account`)}
          id={name}
          name={`${name}_account`}
          autoComplete="off"
          defaultValue={accountId ?? ''}
          problem={hasProblem ? t('accountInvalid') : null}
        />
      ) : null}
    </>
  )
}
