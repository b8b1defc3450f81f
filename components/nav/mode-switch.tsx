import { FlaskConical } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import type { Mode } from '#lib/base/mode.ts'

const OTHER = { test: 'live', live: 'test' } as const
const LOOKS = {
  test: { text: 'text-test', track: 'bg-test', knob: 'translate-x-[14px]' },
  live: { text: 'text-muted', track: 'bg-faint', knob: 'translate-x-0' },
}

/** Says which world this is and leads to the other one. */
export function ModeSwitch({ mode }: { mode: Mode }) {
  const t = useTranslations('nav')
  const { text, track, knob } = LOOKS[mode]
  return (
    <Link
      href={`/${OTHER[mode]}/home`}
      prefetch={false}
      className="flex min-h-10 items-center gap-3 rounded-control border border-line2 px-2.5 transition-colors duration-150 hover:bg-sunk"
    >
      <FlaskConical size={18} strokeWidth={1.8} aria-hidden />
      <span className={`font-semibold text-small ${text}`}>{t(`mode.${mode}`)}</span>
      <span className="sr-only">{t(`modeOther.${mode}`)}</span>
      <span aria-hidden className={`ml-auto h-5 w-[34px] rounded-chip p-[3px] ${track}`}>
        <span className={`block size-[14px] rounded-chip bg-surface ${knob}`} />
      </span>
    </Link>
  )
}
