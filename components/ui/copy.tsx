'use client'

import { Check, Copy } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Button } from '#components/ui/button.tsx'

const MESSAGE_SHOWN_MS = 2_000

interface CopyButtonProps {
  text: string
  label?: string
  variant?: 'primary' | 'quiet' | 'plain'
  className?: string
}

export function CopyButton({ text, label, variant = 'quiet', className = '' }: CopyButtonProps) {
  const t = useTranslations('ui')
  const [outcome, setOutcome] = useState<'copied' | 'copyFailed' | null>(null)
  async function copy() {
    setOutcome((await writeToClipboard(text)) ? 'copied' : 'copyFailed')
    setTimeout(() => setOutcome(null), MESSAGE_SHOWN_MS)
  }
  const Icon = outcome === 'copied' ? Check : Copy
  return (
    <>
      <Button variant={variant} onClick={copy} className={className}>
        <Icon size={16} aria-hidden />
        {outcome === 'copied' ? t('copied') : (label ?? t('copy'))}
      </Button>
      <span role="status" className={outcome === 'copyFailed' ? 'text-bad text-small' : 'sr-only'}>
        {outcome ? t(outcome) : ''}
      </span>
    </>
  )
}

/** Falls back to execCommand: plain http has no clipboard API, except on localhost. */
async function writeToClipboard(text: string): Promise<boolean> {
  if (navigator.clipboard) {
    return navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    )
  }
  const area = Object.assign(document.createElement('textarea'), { value: text })
  area.style.position = 'fixed'
  document.body.append(area)
  area.select()
  const isDone = document.execCommand('copy')
  area.remove()
  return isDone
}

interface CopyValueProps {
  name: string
  value: string
}

export function CopyValue({ name, value }: CopyValueProps) {
  const t = useTranslations('ui')
  const [outcome, setOutcome] = useState<'copied' | 'copyFailed' | null>(null)
  async function copy() {
    setOutcome((await writeToClipboard(value)) ? 'copied' : 'copyFailed')
    setTimeout(() => setOutcome(null), MESSAGE_SHOWN_MS)
  }
  const Icon = outcome === 'copied' ? Check : Copy
  return (
    <>
      <button
        type="button"
        onClick={copy}
        title={t('copyName', { name })}
        className="-mx-1.5 -my-[3px] inline-flex min-h-7 max-w-full items-center gap-2 rounded-[7px] px-1.5 text-left hover:bg-sunk"
      >
        <span className="sr-only">{t('copyName', { name })}</span>
        <span className="line-clamp-4 min-w-0 font-mono text-[13px] [overflow-wrap:anywhere]">
          {value}
        </span>
        <Icon size={14} aria-hidden className="shrink-0 text-muted" />
      </button>
      <span role="status" className={outcome === 'copyFailed' ? 'text-bad text-small' : 'sr-only'}>
        {outcome ? t(outcome) : ''}
      </span>
    </>
  )
}
