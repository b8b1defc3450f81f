import { SearchX } from 'lucide-react'
import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { Pager } from '#components/filters/pager.tsx'
import { Problem } from '#components/form/problem.tsx'
import { Button } from '#components/ui/button.tsx'
import { Empty } from '#components/ui/empty.tsx'

interface ListBodyProps {
  error: unknown
  /** Other filters were chosen, and what fits them is on its way. */
  isPending: boolean
  nextCursor: string | null
  children: ReactNode
}

/** What stands below the filters of a list. */
export function ListBody({ error, isPending, nextCursor, children }: ListBodyProps) {
  return (
    <>
      {error ? (
        <div className="mb-4">
          <Problem error={error} />
        </div>
      ) : null}
      <div aria-busy={isPending} className="transition-opacity duration-150 aria-busy:opacity-60">
        {children}
        <Pager nextCursor={nextCursor} />
      </div>
    </>
  )
}

interface NoneFitProps {
  title: string
  text: string
  clear: () => void
}

/** There are some, but none that the filters let through. */
export function NoneFit({ title, text, clear }: NoneFitProps) {
  const t = useTranslations('ui')
  return (
    <Empty icon={SearchX} title={title} text={text}>
      <Button look="quiet" onClick={clear}>
        {t('clearAll')}
      </Button>
    </Empty>
  )
}
