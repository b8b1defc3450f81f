import { expect, test } from 'vitest'
import { describeBank } from '#lib/core/pix/participants.ts'

test.each([
  ['60701190', 'ITAÚ UNIBANCO S.A. (60701190)', 'ISPB 60701190'],
  ['00000000', 'BCO DO BRASIL S.A. (00000000)', 'ISPB 00000000'],
  ['00000099', 'ISPB 00000099', 'ISPB 00000099'],
  ['toString', 'toString', 'toString'],
  [null, null, null],
])('the bank %s is shown as %s, in test mode as %s', (bank, live, simulated) => {
  expect(describeBank('live', bank)).toBe(live)
  expect(describeBank('test', bank)).toBe(simulated)
})
