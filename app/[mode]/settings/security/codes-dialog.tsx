'use client'

import { Download } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { saveAs } from '#components/form/save-file.ts'
import { Button } from '#components/ui/button.tsx'
import { CopyButton } from '#components/ui/copy.tsx'
import { SecretDialog } from '#components/ui/secret-dialog.tsx'

interface RecoveryCodesDialogProps {
  codes: string[]
  email: string
  onClose: () => void
}

export function RecoveryCodesDialog({ codes, email, onClose }: RecoveryCodesDialogProps) {
  const t = useTranslations('factor')
  const text = `${t('codes.file', { email })}\n\n${codes.join('\n')}\n`
  const save = () => saveAs(new Blob([text], { type: 'text/plain' }), t('codes.fileName'))
  return (
    <SecretDialog
      title={t('codes.dialogTitle')}
      description={t('codes.dialogText')}
      savedLabel={t('codes.done')}
      onSaved={onClose}
    >
      <ul
        data-testid="recovery-codes"
        className="grid grid-cols-2 gap-x-4 gap-y-2 rounded-control bg-sunk px-4 py-4 text-center font-mono text-[15px]"
      >
        {codes.map(code => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <div className="flex flex-wrap gap-3">
        <CopyButton text={text} label={t('codes.copy')} />
        <Button variant="quiet" onClick={save}>
          <Download size={16} aria-hidden />
          {t('codes.save')}
        </Button>
      </div>
    </SecretDialog>
  )
}
