import { Check, CircleAlert, CircleDashed, TriangleAlert } from 'lucide-react'
import { useLocale, useTranslations } from 'next-intl'
import { moneyText, useTimeText } from '#components/format/format.tsx'
import { Chip } from '#components/ui/chip.tsx'
import type { BankChecked } from '#lib/operator/banks/schema.ts'

type Finding = BankChecked['findings'][number]

const LEVELS = {
  ok: { tone: 'ok', icon: Check },
  warning: { tone: 'wait', icon: TriangleAlert },
  problem: { tone: 'bad', icon: CircleAlert },
  unanswered: { tone: 'off', icon: CircleDashed },
} as const
/** Worst first: what must be done is read before what works. */
const ORDER = ['problem', 'unanswered', 'warning', 'ok'] as const

/** Findings of a check, each with the action that solves it. */
export function Findings({ findings }: { findings: Finding[] }) {
  const t = useTranslations()
  const textOf = useFindingTexts()
  const sorted = ORDER.flatMap(level => findings.filter(finding => finding.level === level))
  return (
    <ul aria-label={t('banks.check.title')} className="border-line border-t">
      {sorted.map(finding => {
        const { found, advice } = textOf(finding)
        return (
          <li
            key={`${finding.code} ${JSON.stringify(finding.params)}`}
            data-testid={`finding-${finding.code}`}
            className="flex items-start gap-x-4 border-line py-2.5 not-first:border-t"
          >
            <div className="min-w-0 flex-1">
              <p className="break-words">{found}</p>
              {advice ? <p className="mt-0.5 break-words text-muted text-small">{advice}</p> : null}
            </div>
            <div className="shrink-0">
              <Chip {...LEVELS[finding.level]}>{t(`banks.level.${finding.level}`)}</Chip>
            </div>
          </li>
        )
      })}
    </ul>
  )
}

const TIMES = ['from', 'until']

/** A finding of a later version is shown by its code. */
function useFindingTexts() {
  const [found, advice] = [useTranslations('bankFinding'), useTranslations('bankAdvice')]
  const locale = useLocale()
  const text = useTimeText()
  return ({ code, params }: Finding) => {
    const values = Object.fromEntries(
      Object.entries(params).map(([name, value]) => [
        name,
        TIMES.includes(name)
          ? text(String(value), { dateStyle: 'long' })
          : name === 'amount'
            ? moneyText(Math.round(Number(value) * 100), locale)
            : value,
      ]),
    )
    return {
      found: found.has(code as never) ? found(code as 'bank_answers', values) : code,
      advice: advice.has(code as never) ? advice(code as 'bank_silent') : null,
    }
  }
}
