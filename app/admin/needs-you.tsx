'use client'

import { ChevronRight, CircleCheck } from 'lucide-react'
import Link from 'next/link'
import { useLocale, useTranslations } from 'next-intl'
import { MOMENT_FORMAT } from '#components/format/format.tsx'
import { STAFF_TASK_PLACES, useStaffTasks } from '#components/nav/staff-tasks.tsx'
import { LEVEL_STYLES } from '#components/status/state-chips.tsx'
import { TONES } from '#components/ui/chip.tsx'
import { ListSheet, Notice } from '#components/ui/sheet.tsx'
import { ROW_LINK } from '#components/ui/table.tsx'
import { dateFormat, HOME_TIME_ZONE } from '#lib/core/locale.ts'
import type { StaffTask } from '#lib/operator/schema.ts'

/** Lists the work that waits for a person of the staff, the most urgent first. */
export function NeedsYou({ rendered }: { rendered: StaffTask[] }) {
  const t = useTranslations('needsYou')
  const tasks = useStaffTasks(rendered)
  return (
    <section aria-labelledby="needs-you" className="mb-8" data-testid="needs-you">
      <h2 id="needs-you" className="mb-2.5 text-title">
        {t('title')}
      </h2>
      {tasks.length === 0 ? (
        <Notice tone="ok" icon={CircleCheck}>
          {t('nothing')}
        </Notice>
      ) : (
        <ListSheet>
          <ul>
            {tasks.map(task => (
              <TaskRow key={task.name} task={task} />
            ))}
          </ul>
        </ListSheet>
      )}
    </section>
  )
}

function TaskRow({ task: { name, count, level, at } }: { task: StaffTask }) {
  const t = useTranslations('needsYou')
  const locale = useLocale()
  const time = dateFormat(locale, { ...MOMENT_FORMAT, timeZone: HOME_TIME_ZONE })
  const { tone, icon: Icon } = LEVEL_STYLES[level]
  const hasTime = name === 'disputes' || name === 'differences'
  return (
    <li className="relative flex items-center gap-3.5 border-line px-4 py-3 not-first:border-t hover:bg-sunk md:px-6">
      <span className={`grid size-8 shrink-0 place-items-center rounded-chip ${TONES[tone]}`}>
        <Icon size={17} strokeWidth={2.2} aria-hidden />
      </span>
      <span className="min-w-0 flex-1">
        <Link
          href={STAFF_TASK_PLACES[name].href}
          prefetch={false}
          className={`rounded-[4px] font-medium ${ROW_LINK}`}
        >
          {t(`item.${name}`, { count })}
        </Link>
        <span className="block text-muted text-small">
          {at && hasTime ? t(`at.${name}`, { at: time.format(new Date(at)) }) : t(`text.${name}`)}
        </span>
      </span>
      <ChevronRight size={18} aria-hidden className="shrink-0 text-muted" />
    </li>
  )
}
