'use client'

import { useTranslations } from 'next-intl'
import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { Group, HitItem, hitKey, TargetGroup } from '#components/palette/items.tsx'
import { INPUT_CLASS, QUERY_LENGTH_MAX, SearchRow } from '#components/palette/search-row.tsx'
import { KeyboardHints, SearchStatus } from '#components/palette/search-status.tsx'
import type { Target } from '#components/palette/targets.ts'
import { useFind } from '#components/palette/use-find.ts'
import { useListbox } from '#components/palette/use-listbox.ts'
import { useTargetActions, useTargets } from '#components/palette/use-targets.ts'
import type { Hit } from '#lib/dashboard/schema.ts'

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
  const { hits, isSearching, error } = useFind(typed, isAdmin)
  const { openPage, runTarget, failure } = useTargetActions(onClose)
  /** Text at the time Enter was pressed, while the results were still loading. */
  const pendingEnter = useRef(isEntered ? initialText.trim() : null)
  const text = typed.trim()
  const { places, actions } = useTargets(text, isAdmin)
  const targetCount = places.length + actions.length
  const optionOfHit = (hit: Hit) => ({ key: hitKey(hit), onSelect: () => openPage(hit.href) })
  const optionOfTarget = (target: Target) => ({
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
