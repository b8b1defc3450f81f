import { CircleAlert, Clock } from 'lucide-react'
import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { ApiProvider, ConnectionNotice } from '#components/nav/api-provider.tsx'
import { Frame } from '#components/nav/frame.tsx'
import { EarlyKeys } from '#components/palette/early-keys.tsx'
import { PaletteHost } from '#components/palette/palette-host.tsx'
import { ControlsBanner } from '#components/sandbox/controls-banner.tsx'
import { Notice } from '#components/ui/sheet.tsx'
import { connectionIn } from '#lib/banks/served.ts'
import type { Mode } from '#lib/core/mode.ts'
import { chooseAccount, requireMode, requireUser } from '#lib/session/gate.ts'
import type { SessionAccount } from '#lib/session/schema.ts'
import { readSandboxState } from '#lib/webhooks/sandbox.ts'

interface ModeLayoutProps {
  params: Promise<{ mode: string }>
  children: ReactNode
}

export default async function ModeLayout({ params, children }: ModeLayoutProps) {
  const mode = requireMode((await params).mode)
  const user = await requireUser()
  const account = await chooseAccount(user)
  const controls = mode === 'test' && account ? await readSandboxState(account.id) : null
  const frame = (
    <Frame user={user} account={account} mode={mode}>
      {controls?.ends_at ? (
        <ControlsBanner
          advancedS={controls.advanced_s}
          fault={controls.webhook_fault}
          left={controls.webhooks_left}
          endsAt={controls.ends_at}
        />
      ) : null}
      {account && account.status !== 'active' ? <AccountNotice account={account} /> : null}
      {children}
    </Frame>
  )
  return (
    <ClientMessages
      namespaces={[
        ...(user.viewing ? ['viewing' as const] : []),
        ...(controls?.ends_at ? ['controls' as const] : []),
      ]}
    >
      <ApiProvider
        key={account?.id}
        mode={mode}
        userId={user.id}
        account={account && toMember(account, mode)}
      >
        <EarlyKeys />
        {frame}
        <ConnectionNotice />
        {account || user.isAdmin ? <PaletteHost isAdmin={user.isAdmin} /> : null}
      </ApiProvider>
    </ClientMessages>
  )
}

function toMember({ id, role, status, ...assigned }: SessionAccount, mode: Mode) {
  const receives = connectionIn(mode, assigned.receivingConnectionId) !== null
  const paysOut = connectionIn(mode, assigned.payingConnectionId) !== null
  return { id, role, status, receives, paysOut }
}

function AccountNotice({
  account: { status, statusReason: reason },
}: {
  account: Pick<SessionAccount, 'status' | 'statusReason'>
}) {
  const t = useTranslations('accountNotice')
  const isPending = status === 'pending'
  return (
    <div className="mb-6 max-md:mt-2 md:mb-8 print:hidden">
      <Notice tone={isPending ? 'wait' : 'bad'} icon={isPending ? Clock : CircleAlert}>
        <strong className="block font-semibold">
          {isPending ? t('pending') : t('suspended')}
          {!isPending && reason ? ` ${t('reason', { reason })}` : null}
        </strong>
        <span className="mt-0.5 block font-normal">
          {isPending ? t('pendingText') : t('suspendedText')}
        </span>
      </Notice>
    </div>
  )
}
