import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ACTIONS, actionMessageKey, matchActions } from '#lib/audit/actions.ts'
import { EVENT_TYPES } from '#lib/webhooks/states.ts'
import en from '#messages/en/audit.json' with { type: 'json' }
import ptBR from '#messages/pt-BR/audit.json' with { type: 'json' }

function findActions(text: string): string[] {
  if (!/\b(?:recordAudit|noteExport)\(|\bnote\(tx\b|\baudit: \{/.test(text)) return []
  const literals = text.matchAll(/'([a-z_]{3,}\.[a-z_]+)'/g)
  return [...literals].map(([, literal = '']) => literal)
}

function listSourceFiles(): string[] {
  return ['lib', 'bin', 'app', 'prisma'].flatMap(folder =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter(file => /\.ts$/.test(file) && !/\.test\.ts$|^base\/db\/generated/.test(file))
      .map(file => `${folder}/${file}`),
  )
}

test('an action is found in every notation that the code uses', () => {
  expect(findActions("recordAudit(tx, { actor, action: 'token.issued' })")).toEqual([
    'token.issued',
  ])
  expect(findActions("const DONE = 'demo.made'\nrecordAudit(tx, { action: DONE })")).toEqual([
    'demo.made',
  ])
  expect(findActions("await note(tx, 'webhook_secret.rotated', id, {})")).toHaveLength(1)
  expect(findActions("const name = 'demo.json'")).toEqual([])
})

test('every action in the code is in the list and has a text in both languages', () => {
  const written = new Set(
    listSourceFiles().flatMap(file => findActions(readFileSync(file, 'utf8'))),
  )
  for (const type of EVENT_TYPES) written.delete(type)
  expect(written.size).toBeGreaterThan(20)
  expect([...written].filter(action => actionMessageKey(action) === null)).toEqual([])
  for (const { auditAction, auditGroup } of [en, ptBR]) {
    for (const action of written) {
      expect(auditAction).toHaveProperty(actionMessageKey(action) ?? '')
      expect(auditGroup).toHaveProperty(action.split('.')[0] ?? '')
    }
  }
})

test('every action of the list is used in the code', () => {
  const written = listSourceFiles()
    .filter(file => file !== 'lib/audit/actions.ts')
    .map(file => readFileSync(file, 'utf8'))
    .join()
  expect(ACTIONS.filter(action => !written.includes(`'${action}'`))).toEqual([])
})

test('a filter matches one action, a group of actions, or nothing', () => {
  expect(matchActions('token.revoked')).toEqual(['token.revoked'])
  expect(matchActions('token.*')).toEqual([
    'token.addresses_changed',
    'token.adopted',
    'token.issued',
    'token.revoked',
    'token.rotated',
  ])
  for (const filter of ['token', '*', '.*', 'token.', 'token.nothing', 'nothing.*']) {
    expect(matchActions(filter), filter).toBeNull()
  }
})
