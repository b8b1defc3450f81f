import * as z from 'zod'
import { openApiMeta } from '#lib/core/fields.ts'
import { IssuedToken, Token } from '#lib/tokens/schema.ts'

export const TokenList = z.object({ data: z.array(Token) })
export const IssuedTokenList = z.object({ data: z.array(IssuedToken) })
export const TokenRead = z.object({ data: Token })

export const TokenIssued = z.object({
  data: Token.extend({
    token: z
      .string()
      .nullable()
      .meta(
        openApiMeta(
          'Returned only once. Null in the response to a repeated request.',
          'troco_test_3fK9xQ2mA…8XbT',
        ),
      ),
  }).meta({ id: 'IssuedToken' }),
})
