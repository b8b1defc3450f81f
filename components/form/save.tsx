'use client'

import { Check } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { Problem } from '#components/form/problem.tsx'
import { Button } from '#components/ui/button.tsx'

interface SaveButtonProps {
  isBusy: boolean
  isSaved: boolean
  failure: unknown
  isUnchanged: boolean
}

export function SaveButton({ isBusy, isSaved, failure, isUnchanged }: SaveButtonProps) {
  const t = useTranslations('settings')
  return (
    <div className="grid gap-4">
      <Problem error={failure} />
      <div className="flex items-center gap-3.5">
        <Button
          variant={isUnchanged ? 'quiet' : 'primary'}
          type="submit"
          aria-disabled={isBusy || isUnchanged}
          className="aria-disabled:cursor-default aria-disabled:text-muted"
        >
          {isBusy ? t('busy') : t('save')}
        </Button>
        <p role="status" className="flex items-center gap-1.5 font-medium text-ok text-small">
          {isSaved ? (
            <>
              <Check size={16} aria-hidden />
              {t('saved')}
            </>
          ) : null}
        </p>
      </div>
    </div>
  )
}
