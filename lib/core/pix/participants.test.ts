import { expect, test } from 'vitest'
import { describeBank } from '#lib/core/pix/participants.ts'

test.each([
  ['60701190', 'ITAÚ UNIBANCO S.A. (60701190)'],
  ['00000000', 'BCO DO BRASIL S.A. (00000000)'],
  ['99999999', '99999999'],
  ['toString', 'toString'],
  [null, null],
])('the bank %s is shown as %s', (bank, shown) => {
  expect(describeBank('live', bank)).toBe(shown)
  expect(describeBank('test', bank)).toBe(bank)
})
