import { expect, test } from 'vitest'
import { formatFinding } from '#bin/commands/bank.ts'
import { FINDINGS, type FindingCode, findingLevelOf } from '#lib/banks/gateway.ts'

const PARAMS = {
  ...{
    from: '2026-11-01T00:00:00.000Z',
    until: '2026-12-01T00:00:00.000Z',
    days: 30,
    seconds: -90,
  },
  host: 'bank.example',
  issuer: 'CN=AC',
  reason: 'R1',
  scope: 'pix.write',
  key: 'p***',
  amount: '1.00',
  settings: 'txidObrigatorio',
}

test.each(Object.keys(FINDINGS) as FindingCode[])(
  '%s is one line, and a second one if there is something to do',
  code => {
    const finding = { code, params: PARAMS }
    const lines = formatFinding(finding).split('\n')
    expect(lines.pop()).toBe('')
    expect(lines[0]).toMatch(new RegExp(`^(ok   |NOTE |SKIP |WRONG|DOWN ) ${code}: .*[^.]$`))
    expect(lines.join()).not.toContain('undefined')
    expect(lines.slice(1)).toEqual(
      ['ok', 'untried'].includes(findingLevelOf(finding))
        ? []
        : [expect.stringMatching(/^ {6}[A-Z].*[^.]\.$/)],
    )
  },
)
