import { CANARY } from '#lib/testing/canary.ts'

/** Body of a request for a charge. */
export const CHARGE = {
  amount: 1_500,
  client_name: 'Ana Beatriz Rocha',
  client_email: 'ana@example.com',
  client_doc: CANARY.formattedDocument,
}
