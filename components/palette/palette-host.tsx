'use client'

import { useTranslations } from 'next-intl'
import {
  type ComponentType,
  type InputEvent,
  type KeyboardEvent,
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { watchPalette } from '#components/nav/links.tsx'
import type { SearchProps } from '#components/palette/palette.tsx'
import { INPUT_CLASS, QUERY_LENGTH_MAX, SearchRow } from '#components/palette/search-row.tsx'

declare global {
  /** Ends the taking of early keys. Returns what was typed for the palette; null if it was not opened. */
  var takeEarlyKeys: (() => string | null) | undefined
}

/** Renders the page's only palette. Its scripts are loaded when it is first opened. */
export function PaletteHost({ isAdmin }: { isAdmin: boolean }) {
  /** Text typed so far; null while the palette is closed. */
  const [typed, setTyped] = useState<string | null>(null)
  const close = useCallback(() => setTyped(null), [])
  useEffect(() => {
    setTyped(globalThis.takeEarlyKeys?.() ?? null)
    return watchPalette(
      () => setTyped(''),
      () => setTyped(open => (open === null && !isBelowLayer() ? '' : null)),
    )
  }, [])
  if (typed === null) return null
  return <PaletteDialog isAdmin={isAdmin} typed={typed} onClose={close} />
}

/** Returns whether a dialog or menu of Radix is open, which would take the focus back from the palette. */
function isBelowLayer(): boolean {
  return document.querySelector(':is([role=dialog], [role=menu])[data-state=open]') !== null
}

const loadPalette = async () => (await import('#components/palette/palette.tsx')).Palette

interface PaletteDialogProps extends Pick<SearchProps, 'isAdmin' | 'onClose'> {
  /** Text typed before the dialog opened. */
  typed: string
}

/** Takes what is typed until the palette's scripts are loaded, and passes it to them. */
function PaletteDialog({ isAdmin, typed, onClose }: PaletteDialogProps) {
  const t = useTranslations('nav')
  const dialog = useRef<HTMLDialogElement>(null)
  const [initialText, setInitialText] = useState(typed)
  const [isEntered, setEntered] = useState(false)
  const [isComposing, setComposing] = useState(false)
  const { Palette, isFailed } = useLoadedPalette()
  useLayoutEffect(() => {
    const element = dialog.current
    element?.showModal()
    element?.querySelector('input')?.focus()
    const unlock = lockScroll()
    return () => {
      unlock()
      // The browser returns the focus to the element that had it.
      element?.close()
    }
  }, [])
  function onInput(event: InputEvent<HTMLInputElement>) {
    setInitialText(event.currentTarget.value)
    setEntered(false)
  }
  function onKeyDown(event: KeyboardEvent) {
    // The key that opened the palette repeats while it is held.
    if (event.key === 'Enter' && !event.repeat && initialText.trim()) setEntered(!isComposing)
  }
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the Escape key closes it as well
    <dialog
      ref={dialog}
      aria-label={t('palette')}
      onCancel={event => {
        event.preventDefault()
        onClose()
      }}
      onClick={event => event.target === dialog.current && onClose()}
      className="m-0 w-full max-w-none overflow-hidden rounded-b-sheet border border-line bg-surface text-ink shadow-over backdrop:bg-[rgb(0_0_0/0.45)] md:mx-auto md:mt-[12vh] md:w-[min(640px,92vw)] md:rounded-sheet"
    >
      {/* A letter with an accent that is being composed would be lost with its input. */}
      {Palette && !isComposing ? (
        <Palette {...{ isAdmin, initialText, isEntered, onClose }} />
      ) : (
        <>
          <SearchRow isBusy={!isFailed} onClose={onClose}>
            <input
              aria-label={t('palette')}
              placeholder={t('paletteHint')}
              maxLength={QUERY_LENGTH_MAX}
              autoComplete="off"
              value={initialText}
              onInput={onInput}
              onKeyDown={onKeyDown}
              onCompositionStart={() => setComposing(true)}
              onCompositionEnd={() => setComposing(false)}
              className={INPUT_CLASS}
            />
          </SearchRow>
          <LoadStatus isFailed={isFailed} />
        </>
      )}
    </dialog>
  )
}

/** Stops the page behind from scrolling, without moving it by the width of its scrollbar. */
function lockScroll(): () => void {
  const { clientWidth, style } = document.documentElement
  style.paddingRight = `${innerWidth - clientWidth}px`
  style.overflow = 'hidden'
  return () => {
    style.paddingRight = ''
    style.overflow = ''
  }
}

function LoadStatus({ isFailed }: { isFailed: boolean }) {
  const t = useTranslations('problem')
  return (
    <p role="status" className={isFailed ? 'px-5 py-4 text-muted' : 'sr-only'}>
      {isFailed ? t('network') : ''}
    </p>
  )
}

function useLoadedPalette() {
  const [Palette, setPalette] = useState<ComponentType<SearchProps> | null>(null)
  const [isFailed, setFailed] = useState(false)
  useEffect(() => {
    loadPalette().then(
      loaded => setPalette(() => loaded),
      () => setFailed(true),
    )
  }, [])
  return { Palette, isFailed }
}
