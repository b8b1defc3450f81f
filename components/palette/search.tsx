'use client'

import { Command } from 'cmdk'
import { LoaderCircle, Search as SearchIcon, X } from 'lucide-react'
import { useRouter } from 'next/navigation'
import { useLocale, useTranslations } from 'next-intl'
import { Dialog } from 'radix-ui'
import { type KeyboardEvent, useCallback, useEffect, useRef, useState } from 'react'
import { useApi } from '#components/form/api.ts'
import { signOut } from '#components/form/auth-calls.ts'
import { setLocale, setTheme } from '#components/format/preferences.ts'
import { useHasPermission } from '#components/nav/permissions.tsx'
import { HitItem, hitKey, TargetGroup } from '#components/palette/items.tsx'
import { KeyboardHints, SearchStatus } from '#components/palette/search-status.tsx'
import {
  ADMIN_TARGETS,
  actionTargets,
  matchesTarget,
  pageTargets,
  type Target,
} from '#components/palette/targets.ts'
import { useFind } from '#components/palette/use-find.ts'
import { nextLocale } from '#lib/base/locale.ts'
import { ApiError } from '#lib/edge/client/api.ts'

interface SearchProps {
  isAdmin: boolean
  onClose: () => void
}

export function Search({ isAdmin, onClose }: SearchProps) {
  const t = useTranslations('palette')
  const [typed, setTyped] = useState('')
  const [selected, setSelected] = useState('')
  const { hits, isSearching, error } = useFind(typed, isAdmin)
  const { openPage, runTarget, failure } = useTargetActions(onClose)
  /** Text at the time Enter was pressed, while the results were still loading. */
  const pendingEnter = useRef<string | null>(null)
  const text = typed.trim()
  const { places, actions } = useTargets(text, isAdmin)
  const targetCount = places.length + actions.length

  useEffect(() => {
    const [first] = hits ?? []
    if (!hits || !first) return
    setSelected(hitKey(first))
    const exactHits = hits.filter(hit => hit.isExact)
    const [onlyHit] = exactHits.length > 0 ? exactHits : hits
    if (pendingEnter.current === text && onlyHit && (exactHits.length === 1 || hits.length === 1))
      openPage(onlyHit.href)
    pendingEnter.current = null
  }, [hits, text, openPage])

  function onKeyDown(event: KeyboardEvent) {
    if (event.key !== 'Enter' || !isSearching) return
    if (targetCount > 0) return
    event.preventDefault()
    pendingEnter.current = text
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
        {isSearching ? (
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
              <HitItem key={hitKey(hit)} hit={hit} onSelect={() => openPage(hit.href)} />
            ))}
          </TargetGroup>
        ) : null}
        <TargetGroup heading={t('go')} targets={places} onSelect={runTarget} />
        <TargetGroup heading={t('do')} targets={actions} onSelect={runTarget} />
      </Command.List>
      <SearchStatus
        isSearching={isSearching}
        hitCount={hits?.length ?? 0}
        targetCount={targetCount}
        error={failure ?? error}
        hasQuery={text !== ''}
      />
      <KeyboardHints />
    </Command>
  )
}

/** Without an account, as on the operator's pages, no page of an account is offered. */
function useTargets(text: string, isAdmin: boolean) {
  const { mode, accountId } = useApi().scope
  const hasPermission = useHasPermission()
  const isOffered = (target: Target) =>
    matchesTarget(target, text) && (!target.needs || hasPermission(target.needs))
  const places = [
    ...(accountId === null ? [] : pageTargets(mode)),
    ...(isAdmin ? ADMIN_TARGETS : []),
  ]
  const actions = actionTargets(mode).filter(({ href }) => accountId !== null || !href)
  return { places: places.filter(isOffered), actions: actions.filter(isOffered) }
}

function useTargetActions(onClose: () => void) {
  const router = useRouter()
  const locale = useLocale()
  const api = useApi()
  const [failure, setFailure] = useState<Error | null>(null)
  const openPage = useCallback(
    (href: string) => {
      router.push(href)
      onClose()
    },
    [router, onClose],
  )
  async function runTarget({ href, action }: Target) {
    if (href) return openPage(href)
    if (action === 'signOut') {
      if (await signOut()) return location.assign('/login')
      return setFailure(new ApiError(0, 'network'))
    }
    if (action === 'language') {
      setLocale(nextLocale(locale), api)
      router.refresh()
    } else if (action) setTheme(action.theme, api)
    onClose()
  }
  return { openPage, runTarget, failure }
}
