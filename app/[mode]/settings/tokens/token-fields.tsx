import type { Permission } from '#lib/tokens/schema.ts'

type MessageKey<Name extends string> = Name extends `${infer Resource}:${infer Action}`
  ? `${Resource}_${Action}`
  : never

/** Returns the message key of a permission. Message keys contain no colon. */
export function messageKeyOf<Name extends Permission>(name: Name): MessageKey<Name> {
  return name.replace(':', '_') as MessageKey<Name>
}

export function makePresets(grantable: Permission[]) {
  return {
    // Those that send data elsewhere or create tokens are chosen one by one.
    all: grantable.filter(name => name !== 'webhooks:write' && name !== 'tokens:write'),
    charges: grantable.filter(name => name.startsWith('transactions:')),
    read: grantable.filter(name => name.endsWith(':read')),
  }
}
