import { PERMISSIONS, type Permission } from '#lib/rooms/tokens/schema.ts'

type MessageKey<Name extends string> = Name extends `${infer Resource}:${infer Action}`
  ? `${Resource}_${Action}`
  : never

/** Returns the message key of a permission. Message keys contain no colon. */
export function messageKeyOf<Name extends Permission>(name: Name): MessageKey<Name> {
  return name.replace(':', '_') as MessageKey<Name>
}

export const PRESETS = {
  all: [...PERMISSIONS],
  charges: ['transactions:read', 'transactions:write'],
  read: PERMISSIONS.filter(name => name.endsWith(':read')),
} satisfies Record<string, Permission[]>
