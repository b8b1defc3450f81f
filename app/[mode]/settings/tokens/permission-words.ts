import { PERMISSIONS, type Permission } from '#lib/rooms/tokens/schema.ts'

type Word<Name extends string> = Name extends `${infer What}:${infer Deed}`
  ? `${What}_${Deed}`
  : never

/** Returns the message key of a permission: keys cannot contain a colon. */
export function wordOf<Name extends Permission>(name: Name): Word<Name> {
  return name.replace(':', '_') as Word<Name>
}

export const PRESETS = {
  all: [...PERMISSIONS],
  charges: ['transactions:read', 'transactions:write'],
  read: PERMISSIONS.filter(name => name.endsWith(':read')),
} satisfies Record<string, Permission[]>
