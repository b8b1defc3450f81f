'use client'

import { useQuery } from '@tanstack/react-query'
import { useRouter } from 'next/navigation'
import { NextIntlClientProvider, useLocale, useMessages, useTranslations } from 'next-intl'
import { type KeyboardEvent, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { ApiError } from '#components/api/client.ts'
import { Problem } from '#components/api/problem.tsx'
import { signOut } from '#components/api/sign-in.ts'
import { useApi } from '#components/api/use-api.ts'
import { useHasPermission } from '#components/nav/permissions.tsx'
import { setLocale, setTheme } from '#components/nav/preferences.tsx'
import { Group, HitItem, hitKey, TargetGroup, useListbox } from '#components/palette/items.tsx'
import { INPUT_CLASS, QUERY_LENGTH_MAX, SearchRow } from '#components/palette/search-row.tsx'
import {
  ADMIN_TARGETS,
  actionTargets,
  matchesTarget,
  PALETTE_MESSAGES,
  type PaletteTarget,
  pageTargets,
} from '#components/palette/targets.ts'
import { searchQueries } from '#components/queries/search.ts'
import { nextLocale } from '#lib/core/locale.ts'
import type { Hit } from '#lib/dashboard/schema.ts'

export function Palette(props: SearchProps) {
  const locale = useLocale()
  const messages = { ...useMessages(), ...PALETTE_MESSAGES[locale] }
  return (
    <NextIntlClientProvider locale={locale} messages={messages}>
      <Search {...props} />
    </NextIntlClientProvider>
  )
}

export interface SearchProps {
  /** Offers the operator's pages and all accounts. */
  isAdmin: boolean
  /** Text that was typed before this script was loaded. */
  initialText: string
  /** Whether Enter was pressed after it. */
  isEntered: boolean
  onClose: () => void
}

function Search({ isAdmin, initialText, isEntered, onClose }: SearchProps) {
  const t = useTranslations('palette')
  const nav = useTranslations('nav')
  const [typed, setTyped] = useState(initialText)
  const { hits, isSearching, error } = useFind(typed, isAdmin)
  const { openPage, runTarget, failure } = useTargetActions(onClose)
  /** Text at the time Enter was pressed, while the results were still loading. */
  const pendingEnter = useRef(isEntered ? initialText.trim() : null)
  const text = typed.trim()
  const { places, actions } = useTargets(text, isAdmin)
  const targetCount = places.length + actions.length
  const optionOfHit = (hit: Hit) => ({ key: hitKey(hit), onSelect: () => openPage(hit.href) })
  const optionOfTarget = (target: PaletteTarget) => ({
    key: target.name,
    onSelect: () => runTarget(target),
  })
  const targets = [...places, ...actions]
  const { inputProps, listId, optionProps, select, ...listbox } = useListbox([
    ...(hits ?? []).map(optionOfHit),
    ...targets.map(optionOfTarget),
  ])

  useEffect(() => {
    if (!hits || hits.length === 0) return
    select(null)
    const exactHits = hits.filter(hit => hit.isExact)
    const [onlyHit] = exactHits.length > 0 ? exactHits : hits
    if (pendingEnter.current === text && onlyHit && (exactHits.length === 1 || hits.length === 1))
      openPage(onlyHit.href)
    pendingEnter.current = null
  }, [hits, text, openPage, select])

  // biome-ignore lint/correctness/useExhaustiveDependencies: once, for the Enter pressed before
  useEffect(() => {
    const [target] = targets
    if (isEntered && target) runTarget(target)
  }, [])

  function onKeyDown(event: KeyboardEvent) {
    if (event.key === 'Enter' && isSearching && targetCount === 0) {
      event.preventDefault()
      pendingEnter.current = text
    }
    listbox.onKeyDown(event)
  }

  return (
    <>
      <SearchRow isBusy={isSearching} onClose={onClose}>
        <input
          {...inputProps}
          ref={focusAtEnd}
          aria-label={nav('palette')}
          placeholder={nav('paletteHint')}
          maxLength={QUERY_LENGTH_MAX}
          autoComplete="off"
          spellCheck={false}
          value={typed}
          onChange={event => {
            setTyped(event.currentTarget.value)
            select(null)
          }}
          onKeyDown={onKeyDown}
          className={INPUT_CLASS}
        />
      </SearchRow>
      <div
        id={listId}
        role="listbox"
        tabIndex={-1}
        aria-label={t('results')}
        // The focus stays in the input.
        onMouseDown={event => event.preventDefault()}
        className="max-h-[min(60dvh,440px)] scroll-py-2 overflow-y-auto p-2"
      >
        {hits && hits.length > 0 ? (
          <Group heading={t('found')}>
            {hits.map(hit => (
              <HitItem key={hitKey(hit)} hit={hit} option={optionProps(optionOfHit(hit))} />
            ))}
          </Group>
        ) : null}
        {(['go', 'do'] as const).map(name => (
          <TargetGroup
            key={name}
            heading={t(name)}
            targets={name === 'go' ? places : actions}
            optionOf={target => optionProps(optionOfTarget(target))}
          />
        ))}
      </div>
      <SearchStatus
        isSearching={isSearching}
        hitCount={hits?.length ?? 0}
        targetCount={targetCount}
        error={failure ?? error}
        hasQuery={text !== ''}
      />
      <KeyboardHints />
    </>
  )
}

/** Continues where the input stood that was shown until this script was loaded. */
function focusAtEnd(input: HTMLInputElement | null): void {
  input?.focus()
  input?.setSelectionRange(input.value.length, input.value.length)
}

interface SearchStatusProps {
  isSearching: boolean
  hitCount: number
  targetCount: number
  error: Error | null
  hasQuery: boolean
}

/** Status of the search: visible if there are no results, always announced to screen readers. */
function SearchStatus({ isSearching, hitCount, targetCount, error, hasQuery }: SearchStatusProps) {
  const t = useTranslations('palette')
  const nav = useTranslations('nav')
  const isEmpty = hitCount + targetCount === 0
  const message = isSearching
    ? t('looking')
    : isEmpty && hasQuery && !error
      ? t('nothing')
      : hasQuery
        ? nav('results', { count: hitCount + targetCount })
        : ''
  return (
    <>
      <p
        role="status"
        className={isEmpty && hasQuery && !error ? 'px-5 pt-2 pb-6 text-muted' : 'sr-only'}
      >
        {message}
      </p>
      {error ? (
        <div className="px-4 pb-4">
          <Problem error={error} />
        </div>
      ) : null}
    </>
  )
}

const SHORTCUTS = [
  ['↑↓', 'choose'],
  ['↵', 'open'],
  ['esc', 'leave'],
] as const

function KeyboardHints() {
  const t = useTranslations('palette')
  return (
    <div
      aria-hidden
      className="flex gap-5 border-line border-t px-5 py-2.5 text-muted text-tiny max-md:hidden"
    >
      {SHORTCUTS.map(([key, word]) => (
        <span key={key} className="flex items-center gap-1.5">
          <kbd className="rounded-[5px] border border-line2 px-1.5 font-sans">{key}</kbd>
          {t(`key.${word}`)}
        </span>
      ))}
    </div>
  )
}

/** Wait after the last keystroke: earlier results would be replaced before anyone reads them. */
const DEBOUNCE_MS = 160
const QUERY_LENGTH_MIN = 2
/** A pasted code is longer, and is no account's. */
const ACCOUNT_QUERY_MAX = 255
/** Matches a pasted token. Only its start is sent, because servers and proxies log URLs. */
const TOKEN_PATTERN = /^(troco_(?:test|live)_\w{9})\w+$/

interface FindState {
  /** Results for the current text; null until they arrive. */
  hits: Hit[] | null
  isSearching: boolean
  error: Error | null
}

function useFind(typed: string, isAdmin: boolean): FindState {
  const api = useApi()
  const { accountId } = api.scope
  const text = typed.trim().replace(TOKEN_PATTERN, '$1')
  const debounced = useDebounced(text)
  const isLongEnough = text.length >= QUERY_LENGTH_MIN
  const accountText = debounced.slice(0, ACCOUNT_QUERY_MAX)
  const own = useHits(searchQueries.hits(api, debounced), debounced, accountId !== null)
  const accounts = useHits(searchQueries.accounts(api, accountText), debounced, isAdmin)
  const isLoaded = own.isLoaded && accounts.isLoaded
  const found = useMemo(
    () => (isLoaded ? [...accounts.hits, ...own.hits] : null),
    [isLoaded, accounts.hits, own.hits],
  )
  const isCurrent = isLongEnough && debounced === text
  const hits = isCurrent ? found : null
  const failure = isCurrent && !hits ? (own.error ?? accounts.error) : null
  return { hits, isSearching: isLongEnough && !hits && !failure, error: failure }
}

const NO_HITS: Hit[] = []

/** A search that is not enabled finds nothing, at once. */
function useHits(
  query: ReturnType<typeof searchQueries.accounts | typeof searchQueries.hits>,
  text: string,
  isEnabled: boolean,
) {
  const { data, error } = useQuery({
    ...query,
    enabled: isEnabled && text.length >= QUERY_LENGTH_MIN,
  })
  return { hits: data ?? NO_HITS, isLoaded: !isEnabled || data !== undefined, error }
}

function useDebounced(text: string): string {
  const [debounced, setDebounced] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(text), DEBOUNCE_MS)
    return () => clearTimeout(timer)
  }, [text])
  return debounced
}

/** Without an account, as on the operator's pages, no page of an account is offered. */
function useTargets(text: string, isAdmin: boolean) {
  const { mode, accountId } = useApi().scope
  const hasPermission = useHasPermission()
  const isOffered = (target: PaletteTarget) =>
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
      // The documentation is not a page of Next.
      if (href === '/docs') location.assign(href)
      else router.push(href)
      onClose()
    },
    [router, onClose],
  )
  async function runTarget({ href, action }: PaletteTarget) {
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
