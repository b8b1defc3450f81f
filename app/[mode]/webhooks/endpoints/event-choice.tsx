'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { EVENT_GROUPS, EVENT_TYPES, type EventType, matchEventTypes } from '#lib/webhooks/states.ts'

interface EventChoiceProps {
  chosen: readonly EventType[]
  problem?: string | undefined
}

const CHECKBOX_CLASS = 'mt-0.5 size-[18px] shrink-0 accent-accent'

export function EventChoice({ chosen: initialChoice, problem: formProblem }: EventChoiceProps) {
  const t = useTranslations('endpoints')
  const [chosen, setChosen] = useState(new Set(initialChoice))
  // Hidden at the first choice. If hidden on submit, the button would move before the click ends.
  const problem = chosen.size === 0 ? formProblem : undefined
  const isAll = chosen.size === EVENT_TYPES.length
  function toggle(type: EventType) {
    const next = new Set(chosen)
    if (!next.delete(type)) next.add(type)
    setChosen(next)
  }
  return (
    <fieldset aria-describedby={problem ? 'event_types-problem' : undefined}>
      <legend className="mb-2 font-semibold text-small">{t('events')}</legend>
      <label className="flex min-h-9 items-start gap-2.5 py-1.5 font-medium">
        <input
          type="checkbox"
          className={CHECKBOX_CLASS}
          checked={isAll}
          ref={box => {
            if (box) box.indeterminate = !isAll && chosen.size > 0
          }}
          onChange={() => setChosen(new Set(isAll ? [] : EVENT_TYPES))}
        />
        {t('allEvents')}
      </label>
      <div className="mt-1 grid gap-x-6 gap-y-3 sm:grid-cols-2">
        {EVENT_GROUPS.map(group => (
          <div key={group}>
            <p className="mb-1 text-muted text-small">
              {t(group === 'transaction.*' ? 'ofCharges' : 'ofWithdrawals')}
            </p>
            {matchEventTypes(group).map(type => (
              <label key={type} className="flex min-h-9 items-start gap-2.5 py-1.5">
                <input
                  type="checkbox"
                  name="event_types"
                  value={type}
                  className={CHECKBOX_CLASS}
                  checked={chosen.has(type)}
                  onChange={() => toggle(type)}
                />
                <span className="min-w-0">
                  <span className="block font-mono text-[13px] leading-[22px]">
                    {type.split('.')[0]}.<wbr />
                    {type.split('.')[1]}
                  </span>
                  <span className="block text-muted text-small">
                    {t(`means.${messageKeyOf(type)}`)}
                  </span>
                </span>
              </label>
            ))}
          </div>
        ))}
      </div>
      {problem ? (
        <p id="event_types-problem" className="mt-1.5 font-medium text-bad text-small">
          {problem}
        </p>
      ) : null}
    </fieldset>
  )
}

/** Returns the message key of an event: keys cannot contain a dot. */
function messageKeyOf<Type extends string>(type: Type) {
  return type.replace('.', '_') as Type extends `${infer A}.${infer B}` ? `${A}_${B}` : never
}
