import { expect, test } from 'vitest'
import { prettyPrintJson } from '#app/[mode]/webhooks/http-text.ts'
import { diffResponses } from '#app/[mode]/webhooks/response-diff.ts'

const diff = (before: string, after: string) =>
  diffResponses(before, after).map(({ sign, text }) => sign + text)

test('added and removed lines of a response are listed among the unchanged lines', () => {
  expect(diff('HTTP 500\na: 1\n\nx', 'HTTP 503\na: 1\n\nx\ny')).toEqual([
    ...['-HTTP 500', '+HTTP 503', ' a: 1', ' ', ' x', '+y'],
  ])
})

test('two responses that differ only in their Date header are equal', () => {
  expect(diff('HTTP 500\ndate: Mon\n\nx', 'HTTP 500\ndate: Tue\n\nx')).toEqual([])
})

test('JSON is indented unless that would change a value', () => {
  expect(prettyPrintJson('{"a": 1, "b":"c d"}')).toBe('{\n  "a": 1,\n  "b": "c d"\n}')
  for (const same of ['{"a":12345678901234567890}', '{"a":1.0}', '<p>no</p>', '']) {
    expect(prettyPrintJson(same)).toBe(same)
  }
})
