import { useTranslations } from 'next-intl'
import { useRoleText } from '#components/status/role-permissions.ts'
import { ROLES, type Role } from '#lib/accounts/schema.ts'

interface RoleFieldsProps {
  defaultRole: Role
  onSelect?: (role: Role) => void
}

export function RoleFields({ defaultRole, onSelect }: RoleFieldsProps) {
  const t = useTranslations('members')
  const describeRole = useRoleText()
  return (
    <fieldset>
      <legend className="mb-1.5 font-semibold text-small">{t('roleLabel')}</legend>
      <ul className="rounded-control border border-line2">
        {ROLES.map(role => (
          <li key={role} className="border-line not-first:border-t">
            <label className="flex min-h-11 items-start gap-3 px-3.5 py-2.5">
              <input
                type="radio"
                name="role"
                value={role}
                defaultChecked={role === defaultRole}
                onChange={() => onSelect?.(role)}
                className="mt-1 size-[18px] shrink-0 accent-accent"
              />
              <span className="min-w-0 flex-1">
                <span className="font-semibold">{t(`role.${role}`)}</span>
                <span className="block text-muted text-small">{describeRole(role)}</span>
              </span>
            </label>
          </li>
        ))}
      </ul>
    </fieldset>
  )
}
