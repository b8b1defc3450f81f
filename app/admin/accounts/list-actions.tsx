'use client'

import { Building2, Check, Pause } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { createContext, type ReactNode, use, useState } from 'react'
import { useApi } from '#components/api/use-api.ts'
import { Button } from '#components/ui/button.tsx'
import { lazyDialog } from '#components/ui/lazy-dialog.ts'
import { type ChangedStatus, STATUS_CHANGES_MAX } from '#lib/accounts/schema.ts'

const ReasonDialog = lazyDialog(() => import('#app/admin/reason-dialog.tsx'), 'ReasonDialog')

const loadDialogs = () => import('#app/admin/accounts/dialogs.tsx')
const ResultDialog = lazyDialog(loadDialogs, 'ResultDialog')

interface SelectableAccount {
  id: string
  name: string
}

interface Selection {
  isSelected: (id: string) => boolean
  isFull: boolean
  /** Adds no more accounts than one request may change. */
  choose: (accounts: SelectableAccount[], isChosen: boolean) => void
}

const SelectionContext = createContext<Selection | null>(null)

const STATUSES = { activate: 'active', suspend: 'suspended' } as const

/** Keeps the chosen accounts while the list inside changes its page or filters. */
export function AccountSelection({ children }: { children: ReactNode }) {
  const [names, setNames] = useState<ReadonlyMap<string, string>>(new Map())
  const [action, setAction] = useState<'activate' | 'suspend' | null>(null)
  const [results, setResults] = useState<ChangedStatus[] | null>(null)
  const t = useTranslations('accountSelection')
  const api = useApi()
  const count = names.size
  const choose: Selection['choose'] = (accounts, isChosen) => {
    const next = new Map(names)
    for (const { id, name } of accounts) {
      if (!isChosen) next.delete(id)
      else if (next.size < STATUS_CHANGES_MAX) next.set(id, name)
    }
    setNames(next)
  }
  return (
    <SelectionContext
      value={{ isSelected: id => names.has(id), isFull: count >= STATUS_CHANGES_MAX, choose }}
    >
      {children}
      <SelectionBar count={count} onClear={() => setNames(new Map())} onAct={setAction} />
      {action ? (
        <ReasonDialog
          title={t(`${action}Title`, { count })}
          description={t(`${action}Text`)}
          action={t(action)}
          send={async ({ reason }) => {
            const body = { account_ids: [...names.keys()], status: STATUSES[action], reason }
            setResults((await api.post('/admin/accounts/status', { body })).data)
          }}
          isDestructive={action === 'suspend'}
          onClose={() => setAction(null)}
        />
      ) : null}
      {results ? (
        <ResultDialog
          results={results}
          names={names}
          onClose={() => {
            setResults(null)
            setNames(new Map())
          }}
        />
      ) : null}
    </SelectionContext>
  )
}

interface SelectionBarProps {
  count: number
  onClear: () => void
  onAct: (action: 'activate' | 'suspend') => void
}

function SelectionBar({ count, onClear, onAct }: SelectionBarProps) {
  const t = useTranslations('accountSelection')
  return (
    <div
      data-stays={count > 0 ? 'bottom' : undefined}
      className={
        count > 0
          ? 'sticky bottom-[calc(68px+env(safe-area-inset-bottom))] z-20 mt-4 md:bottom-4'
          : ''
      }
    >
      <p role="status" className="sr-only">
        {count > 0 ? t('selected', { count }) : ''}
      </p>
      {count > 0 ? (
        <section
          aria-label={t('label')}
          className="flex flex-wrap items-center gap-x-3 gap-y-2 rounded-sheet border border-line2 bg-surface p-3 pl-4 shadow-over"
        >
          <p className="mr-auto font-semibold">
            {t('selected', { count })}
            {count >= STATUS_CHANGES_MAX ? (
              <span className="block font-normal text-muted text-small">{t('full')}</span>
            ) : null}
          </p>
          <Button variant="plain" onClick={onClear}>
            {t('clear')}
          </Button>
          <Button variant="quiet" onClick={() => onAct('suspend')}>
            <Pause size={16} aria-hidden />
            {t('suspend')}
          </Button>
          <Button variant="primary" onClick={() => onAct('activate')}>
            <Check size={16} aria-hidden />
            {t('activate')}
          </Button>
        </section>
      ) : null}
    </div>
  )
}

interface SelectBoxProps {
  accounts: SelectableAccount[]
  label: string
}

/** Chooses all of the accounts, or none. */
export function SelectBox({ accounts, label }: SelectBoxProps) {
  const selection = use(SelectionContext)
  if (!selection) throw new Error('<SelectBox> is outside <AccountSelection>')
  const chosen = accounts.filter(({ id }) => selection.isSelected(id)).length
  const isChosen = chosen === accounts.length
  return (
    <label className="relative z-10 grid size-10 cursor-pointer place-items-center has-disabled:cursor-default">
      <input
        type="checkbox"
        aria-label={label}
        checked={isChosen}
        disabled={chosen === 0 && selection.isFull}
        ref={input => {
          if (input) input.indeterminate = chosen > 0 && !isChosen
        }}
        onChange={() => selection.choose(accounts, !isChosen)}
        className="size-[18px] accent-accent"
      />
    </label>
  )
}

const InviteMerchantDialog = lazyDialog(loadDialogs, 'InviteMerchantDialog')

export function InviteMerchant() {
  const t = useTranslations('inviteMerchant')
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button variant="primary" onClick={() => setOpen(true)}>
        <Building2 size={17} aria-hidden />
        {t('invite')}
      </Button>
      {isOpen ? <InviteMerchantDialog onClose={() => setOpen(false)} /> : null}
    </>
  )
}
