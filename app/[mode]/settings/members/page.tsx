import { Check, Lock, Minus } from 'lucide-react'
import type { Metadata } from 'next'
import { useTranslations } from 'next-intl'
import { getTranslations } from 'next-intl/server'
import { InviteButton, MemberRows } from '#app/[mode]/settings/members/member-list.tsx'
import { SettingsTabs } from '#app/[mode]/settings/settings-tabs.tsx'
import { Prefetched, readerFor, seed } from '#components/api/prefetch.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { memberQueries } from '#components/queries/people.ts'
import { ROLE_ACTIONS } from '#components/status/role-permissions.ts'
import { PageHead } from '#components/ui/page-head.tsx'
import { ListSheet, Notice } from '#components/ui/sheet.tsx'
import { Table } from '#components/ui/table.tsx'
import { listInvitations, listMembers } from '#lib/accounts/queries.ts'
import { ROLES, type Role } from '#lib/accounts/schema.ts'
import { type AnyPermission, hasPermission, hasPermissionNow } from '#lib/people/roles.ts'
import { hideFromViewer, requireMember } from '#lib/session/gate.ts'

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('members'))('title') }
}

export default async function MembersPage({ params }: { params: Promise<{ mode: string }> }) {
  const { user, account, mode } = await requireMember(params)
  const [t, members, invitations] = await Promise.all([
    getTranslations('members'),
    listMembers(account.id),
    listInvitations(account.id),
  ])
  const canWrite = hasPermissionNow(account, 'members:write')
  return (
    <ClientMessages namespaces={['members', 'invitationLink']}>
      <PageHead title={t('title')}>{canWrite ? <InviteButton /> : null}</PageHead>
      <SettingsTabs mode={mode} current="members" />
      <p className="mb-4 text-muted text-small">{t('text')}</p>
      {canWrite || account.status !== 'active' ? null : (
        <div className="mb-4">
          <Notice tone="wait" icon={Lock}>
            {t('readOnly')}
          </Notice>
        </div>
      )}
      <div className="grid grid-cols-[minmax(0,1fr)] gap-7">
        <Prefetched
          seeds={[
            seed(
              memberQueries.list(readerFor(mode, user, account)),
              hideFromViewer(user, { members, invitations }),
            ),
          ]}
        >
          <MemberRows currentUserId={user.id} />
        </Prefetched>
        <RolesTable />
      </div>
    </ClientMessages>
  )
}

function RolesTable() {
  const t = useTranslations('members')
  return (
    <section aria-labelledby="roles">
      <h2 id="roles" className="mb-2.5 text-title">
        {t('roles')}
      </h2>
      <ListSheet>
        <Table aria-labelledby="roles">
          <thead>
            <tr>
              <td className="w-[36%]" />
              {ROLES.map(role => (
                <th
                  key={role}
                  scope="col"
                  className="px-2 py-3 text-center font-semibold text-small"
                >
                  {t(`role.${role}`)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {ROLE_ACTIONS.map(({ name, needs }) => (
              <tr key={name} className="h-11 border-line border-t">
                <th scope="row" className="px-[18px] py-2 text-left font-normal">
                  {t(`deed.${name}`)}
                </th>
                {ROLES.map(role => (
                  <PermissionCell key={role} role={role} needs={needs} />
                ))}
              </tr>
            ))}
          </tbody>
        </Table>
        <dl className="@table:hidden">
          {ROLES.map(role => (
            <div key={role} className="border-line px-4 py-3.5 not-first:border-t">
              <dt className="font-semibold">{t(`role.${role}`)}</dt>
              <dd className="mt-0.5 text-muted text-small">{t(`can.${role}`)}</dd>
            </div>
          ))}
        </dl>
      </ListSheet>
    </section>
  )
}

function PermissionCell({ role, needs }: { role: Role; needs: AnyPermission }) {
  const t = useTranslations('members')
  const isAllowed = hasPermission(role, needs)
  const Icon = isAllowed ? Check : Minus
  return (
    <td className="px-2 py-2">
      <Icon
        size={17}
        strokeWidth={isAllowed ? 2.4 : 1.8}
        aria-hidden
        className={`mx-auto ${isAllowed ? 'text-ok' : 'text-faint'}`}
      />
      <span className="sr-only">{isAllowed ? t('yes') : t('no')}</span>
    </td>
  )
}
