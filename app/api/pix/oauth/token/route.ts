import { issueAccessToken } from '#lib/http/api-pix.ts'

export const POST = issueAccessToken
