'use client'

import { Command } from 'cmdk'
import { LoaderCircle, Search as SearchIcon, X } from 'lucide-react'
import { useRouter } from 'next/navigation'
import { useLocale, useTranslations } from 'next-intl'
import { Dialog } from 'radix-ui'
import { type KeyboardEvent, useCallback, useEffect, useRef, useState } from 'react'
import { HitItem, keyOf, TargetGroup } from '#app/[mode]/palette/items.tsx'
import { Hints, Outcome } from '#app/[mode]/palette/outcome.tsx'
import { actionsIn, fits, placesIn, type Target } from '#app/[mode]/palette/targets.ts'
import { useFind } from '#app/[mode]/palette/use-find.ts'
import { useApi } from '#components/form/api.ts'
import { signOut } from '#components/form/auth-calls.ts'
import { keepLocale, keepTheme } from '#components/format/preferences.ts'
import { useMay } from '#components/nav/may.tsx'
import { nextLocale } from '#lib/base/locale.ts'
import { ApiError } from '#lib/edge/client/api.ts'

/** Matches ids, documents and e-mails: text that is not the name of a page. */
const IS_NAME = /[\d@]/

export function Search({ onClose }: { onClose: () => void }) {
  const t = useTranslations('palette')
  const { mode } = useApi().scope
  const [typed, setTyped] = useState('')
  const [selected, setSelected] = useState('')
  const { hits, isLooking, error } = useFind(typed)
  const { go, act, failure } = useTargets(onClose)
  /** The text when Enter was pressed before the results arrived. */
  const landing = useRef<string | null>(null)
  const text = typed.trim()
  const isAllowed = useMay()
  const isOffered = (target: Target) =>
    fits(target, text) && (!target.needs || isAllowed(target.needs))
  const places = placesIn(mode).filter(isOffered)
  const actions = actionsIn(mode).filter(isOffered)
  const targets = places.length + actions.length

  useEffect(() => {
    const [first] = hits ?? []
    if (!hits || !first) return
    setSelected(keyOf(first))
    const exact = hits.filter(hit => hit.isExact)
    const [only] = exact.length > 0 ? exact : hits
    if (landing.current === text && only && (exact.length === 1 || hits.length === 1)) go(only.href)
    landing.current = null
  }, [hits, text, go])

  function onKeyDown(event: KeyboardEvent) {
    if (event.key !== 'Enter' || !isLooking) return
    if (targets > 0 && !IS_NAME.test(text)) return
    event.preventDefault()
    landing.current = text
  }

  return (
    <Command
      label={t('title')}
      shouldFilter={false}
      loop
      value={selected}
      onValueChange={setSelected}
      onKeyDown={onKeyDown}
    >
      <div className="flex items-center gap-3 border-line border-b px-4">
        {isLooking ? (
          <LoaderCircle size={18} aria-hidden className="shrink-0 animate-spin text-muted" />
        ) : (
          <SearchIcon size={18} aria-hidden className="shrink-0 text-muted" />
        )}
        <Command.Input
          value={typed}
          onValueChange={setTyped}
          placeholder={t('placeholder')}
          maxLength={600}
          className="h-14 min-w-0 flex-1 bg-transparent text-[16px] outline-none"
        />
        <Dialog.Close
          aria-label={t('close')}
          className="-mr-2 grid size-10 shrink-0 place-items-center rounded-control text-muted hover:bg-sunk hover:text-ink md:hidden"
        >
          <X size={18} aria-hidden />
        </Dialog.Close>
      </div>
      <Command.List
        label={t('results')}
        className="max-h-[min(60dvh,440px)] scroll-py-2 overflow-y-auto p-2"
      >
        {hits && hits.length > 0 ? (
          <TargetGroup heading={t('found')}>
            {hits.map(hit => (
              <HitItem key={keyOf(hit)} hit={hit} onSelect={() => go(hit.href)} />
            ))}
          </TargetGroup>
        ) : null}
        <TargetGroup heading={t('go')} targets={places} onSelect={act} />
        <TargetGroup heading={t('do')} targets={actions} onSelect={act} />
      </Command.List>
      <Outcome
        isLooking={isLooking}
        found={hits?.length ?? 0}
        targets={targets}
        error={failure ?? error}
        isAsked={text !== ''}
      />
      <Hints />
    </Command>
  )
}

function useTargets(onClose: () => void) {
  const router = useRouter()
  const locale = useLocale()
  const api = useApi()
  const [failure, setFailure] = useState<Error | null>(null)
  const go = useCallback(
    (href: string) => {
      router.push(href)
      onClose()
    },
    [router, onClose],
  )
  async function act({ href, deed }: Target) {
    if (href) return go(href)
    if (deed === 'signOut') {
      if (await signOut()) return location.assign('/login')
      return setFailure(new ApiError(0, 'network'))
    }
    if (deed === 'language') {
      keepLocale(nextLocale(locale), api)
      router.refresh()
    } else if (deed) keepTheme(deed.theme, api)
    onClose()
  }
  return { go, act, failure }
}
