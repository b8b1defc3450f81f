import { afterAll, expect } from 'vitest'
import { takeMixedStatements, watchStatements } from '#lib/testing/sides.ts'

/** Fails each test file whose application sent a statement about both sides: docs/decisions/030. */
watchStatements()
afterAll(() =>
  expect(takeMixedStatements(), 'statements that name tables of both sides').toEqual([]),
)
