'use client'

import { Command } from 'cmdk'
import { useRouter } from 'next/navigation'
import { useLocale, useTranslations } from 'next-intl'
import { type KeyboardEvent, useCallback, useEffect, useRef, useState } from 'react'
import { useApi } from '#components/form/api.ts'
import { signOut } from '#components/form/auth-calls.ts'
import { setLocale, setTheme } from '#components/format/preferences.ts'
import { useHasPermission } from '#components/nav/permissions.tsx'
import { HitItem, hitKey, TargetGroup } from '#components/palette/items.tsx'
import { INPUT_CLASS, QUERY_LENGTH_MAX, SearchRow } from '#components/palette/search-row.tsx'
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

export interface SearchProps {
  /** Offers the operator's pages and all accounts. */
  isAdmin: boolean
  /** Text that was typed before this script was loaded. */
  initialText: string
  /** Whether Enter was pressed after it. */
  isEntered: boolean
  onClose: () => void
}

export function Search({ isAdmin, initialText, isEntered, onClose }: SearchProps) {
  const t = useTranslations('palette')
  const nav = useTranslations('nav')
  const [typed, setTyped] = useState(initialText)
  const [selected, setSelected] = useState('')
  const { hits, isSearching, error } = useFind(typed, isAdmin)
  const { openPage, runTarget, failure } = useTargetActions(onClose)
  /** Text at the time Enter was pressed, while the results were still loading. */
  const pendingEnter = useRef(isEntered ? initialText.trim() : null)
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

  // biome-ignore lint/correctness/useExhaustiveDependencies: once, for the Enter pressed before
  useEffect(() => {
    const [target] = [...places, ...actions]
    if (isEntered && target) runTarget(target)
  }, [])

  function onKeyDown(event: KeyboardEvent) {
    if (event.key !== 'Enter' || !isSearching) return
    if (targetCount > 0) return
    event.preventDefault()
    pendingEnter.current = text
  }

  return (
    <Command
      label={nav('palette')}
      shouldFilter={false}
      loop
      value={selected}
      onValueChange={setSelected}
      onKeyDown={onKeyDown}
    >
      <SearchRow isBusy={isSearching} onClose={onClose}>
        <Command.Input
          ref={focusAtEnd}
          value={typed}
          onValueChange={setTyped}
          placeholder={nav('paletteHint')}
          maxLength={QUERY_LENGTH_MAX}
          className={INPUT_CLASS}
        />
      </SearchRow>
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

/** Continues where the input stood that was shown until this script was loaded. */
function focusAtEnd(input: HTMLInputElement | null): void {
  input?.focus()
  input?.setSelectionRange(input.value.length, input.value.length)
}

function useTargetActions(onClose: () => void) {
  const router = useRouter()
  const locale = useLocale()
  const api = useApi()
  const [failure, setFailure] = useState<Error | null>(null)
  const openPage = useCallback(
    (href: string) => {
      // The documentation is not a page of Next.
      if (href === '/docs') location.assign(href)
      else router.push(href)
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
