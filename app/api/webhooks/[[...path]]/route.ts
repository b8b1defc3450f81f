import { serializePixNotice } from '#lib/api-pix/wire.ts'
import { DisputeDetail } from '#lib/charges/disputes/wire.ts'
import { RefundDetail } from '#lib/charges/refunds/wire.ts'
import { ChargeDetail, MismatchedPayment, ReturnDetail } from '#lib/charges/wire.ts'
import { listDeliveriesByReference, resolveReference } from '#lib/dashboard/deliveries.ts'
import { webhookOwner } from '#lib/http/caller.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { pageResult } from '#lib/http/input.ts'
import { eventSamples } from '#lib/http/openapi-responses.ts'
import { endpoints } from '#lib/http/routes.ts'
import { readDelivery, resendDelivery, resendFailed } from '#lib/webhooks/deliveries.ts'
import {
  createEndpoint,
  deleteEndpoint,
  documentsNotHeld,
  editEndpoint,
  enableEndpoint,
  listEndpoints,
  pauseEndpoint,
  readCreatedEndpoint,
  readEndpoint,
  tooManyEndpoints,
} from '#lib/webhooks/endpoints.ts'
import { eventPageSchema } from '#lib/webhooks/events.ts'
import {
  deliveriesQuery,
  enableRequest,
  endpointChange,
  endpointRequest,
  noFields,
  resendRequest,
  testRequest,
} from '#lib/webhooks/schema.ts'
import { readCreatedSecret, rotateSecret, tooManySecrets } from '#lib/webhooks/secrets.ts'
import { sendTestEvent } from '#lib/webhooks/test-event.ts'
import {
  DeliveriesResent,
  DeliveryPage,
  DeliveryRead,
  DeliveryResent,
  EndpointCreated,
  EndpointDeleted,
  EndpointEnabled,
  EndpointList,
  EndpointRead,
  SecretShown,
  TestRead,
} from '#lib/webhooks/wire.ts'
import { WithdrawalDetail } from '#lib/withdrawals/wire.ts'

const sampleOf = eventSamples(
  eventPageSchema({
    transaction: ChargeDetail,
    refund: RefundDetail,
    dispute: DisputeDetail,
    return: ReturnDetail,
    payment: MismatchedPayment,
    withdrawal: WithdrawalDetail,
  }),
)

export const { GET, POST, PATCH, DELETE } = endpoints({
  'GET /webhooks/deliveries': endpoint({
    method: 'GET',
    operationId: 'listDeliveries',
    isCompressible: true,
    summary: 'List deliveries',
    description: 'Returns the deliveries of the last 90 days, newest first.',
    allow: 'webhooks:read',
    query: deliveriesQuery,
    response: DeliveryPage,
    async handle({ account, mode, query }) {
      return pageResult(await listDeliveriesByReference(account.id, mode, query))
    },
  }),
  'GET /webhooks/deliveries/[id]': endpoint({
    method: 'GET',
    operationId: 'getDelivery',
    isCompressible: true,
    hasEtag: true,
    summary: 'Read a delivery',
    description:
      'Returns a delivery with each attempt as it was sent and answered. If a payer’s CPF or CNPJ was sent in full and the caller lacks `payers:read`, it is masked, and signatures and responses are left out.',
    allow: 'webhooks:read',
    response: DeliveryRead,
    errorCodes: ['delivery_not_found'],
    async handle({ account, mode, params: { id = '' }, showsDocuments }) {
      return { data: await readDelivery(account.id, mode, id, showsDocuments) }
    },
  }),
  'POST /webhooks/deliveries/[id]/resend': endpoint({
    method: 'POST',
    operationId: 'resendDelivery',
    effect: 'none',
    summary: 'Resend a delivery',
    description:
      'Sends the event again at once, with the same body and `webhook-id`, and with new attempts. A delivery that succeeded can be sent again, too.',
    allow: 'webhooks:write',
    proof: {
      notRequired: 'It sends a stored event to its receiver again; a new URL requires a proof.',
    },
    body: noFields,
    response: DeliveryResent,
    errorCodes: ['delivery_not_found', 'endpoint_disabled', 'under_way'],
    idempotency: { retentionS: 86_400 },
    async handle(call) {
      const { account, mode } = call
      const { id = '' } = call.params
      await resendDelivery(webhookOwner(call), id, call.once?.isResumed)
      // Without the attempts: their bodies would be stored with the idempotency key.
      const delivery = await readDelivery(account.id, mode, id)
      const { attempts: _, later_pauses_s: __, is_masked: ___, ...data } = delivery
      return { data }
    },
  }),
  'POST /webhooks/deliveries/resend': endpoint({
    method: 'POST',
    operationId: 'resendFailedDeliveries',
    effect: 'none',
    summary: 'Resend failed deliveries',
    description:
      'Sends again what failed or was stopped in a period of at most 14 days, except to disabled and deleted endpoints. One request sends at most 20,000: repeat it while `more` is true.',
    allow: 'webhooks:write',
    proof: {
      notRequired: 'It sends stored events to their receivers again; a new URL requires a proof.',
    },
    body: resendRequest,
    response: DeliveriesResent,
    errorCodes: ['endpoint_not_found', 'endpoint_disabled'],
    idempotency: { retentionS: 86_400 },
    async handle(call) {
      const filter = await resolveReference(call.account.id, call.mode, call.body)
      return resendFailed(webhookOwner(call), filter)
    },
  }),
  'GET /webhooks/endpoints': endpoint({
    method: 'GET',
    operationId: 'listEndpoints',
    summary: 'List endpoints',
    description: 'Returns all endpoints, with the success of their attempts, without secrets.',
    allow: 'webhooks:read',
    response: EndpointList,
    async handle({ account, mode }) {
      return { data: await listEndpoints(account.id, mode) }
    },
  }),
  'POST /webhooks/endpoints': endpoint({
    method: 'POST',
    operationId: 'createEndpoint',
    effect: 'receiver',
    summary: 'Create an endpoint',
    description:
      'Creates an endpoint, at most 10 per account and mode. It belongs to the account and stays when the token that created it ends. The response shows its secret, which can be read nowhere else later. Repeated within 24 hours with the same `Idempotency-Key` and token, the request returns the same secret; with another token it is refused.',
    allow: 'webhooks:write',
    proof: 'required',
    body: endpointRequest,
    response: EndpointCreated,
    errorExamples: [tooManyEndpoints(), documentsNotHeld()],
    // A retry reads the encrypted secret from its row; the idempotency key stores no secret.
    idempotency: {
      retentionS: 86_400,
      showsSecret: true,
      rebuild: async ({ accountId, mode }, id) => ({
        data: await readCreatedEndpoint(accountId, mode, id),
      }),
    },
    async handle(call) {
      const { account, mode, body, once } = call
      const id = await createEndpoint(webhookOwner(call), body, once)
      return { data: await readCreatedEndpoint(account.id, mode, id) }
    },
  }),
  'GET /webhooks/endpoints/[id]': endpoint({
    method: 'GET',
    operationId: 'getEndpoint',
    hasEtag: true,
    summary: 'Read an endpoint',
    description: 'Returns the endpoint without its secret.',
    allow: 'webhooks:read',
    response: EndpointRead,
    errorCodes: ['endpoint_not_found'],
    async handle({ account, mode, params: { id = '' } }) {
      return { data: await readEndpoint(account.id, mode, id) }
    },
  }),
  'PATCH /webhooks/endpoints/[id]': endpoint({
    method: 'PATCH',
    operationId: 'updateEndpoint',
    effect: 'receiver',
    summary: 'Change an endpoint',
    description:
      'Fields that are left out stay as they are. Waiting deliveries go to a new URL, with CPFs and CNPJs masked if the caller lacks `payers:read`.',
    allow: 'webhooks:write',
    proof: 'required',
    body: endpointChange,
    response: EndpointRead,
    errorCodes: ['endpoint_not_found'],
    errorExamples: [documentsNotHeld()],
    async handle(call) {
      const { account, mode, body } = call
      const { id = '' } = call.params
      await editEndpoint(webhookOwner(call), id, body)
      return { data: await readEndpoint(account.id, mode, id) }
    },
  }),
  'DELETE /webhooks/endpoints/[id]': endpoint({
    method: 'DELETE',
    operationId: 'deleteEndpoint',
    effect: 'none',
    summary: 'Delete an endpoint',
    description:
      'Its waiting deliveries are stopped. The events stay readable through `GET /events`.',
    allow: 'webhooks:write',
    proof: { notRequired: 'It sends no data anywhere; the events stay readable through the API.' },
    response: EndpointDeleted,
    errorCodes: ['endpoint_not_found'],
    async handle(call) {
      const { id = '' } = call.params
      await deleteEndpoint(webhookOwner(call), id)
      return { data: { id, deleted: true } }
    },
  }),
  'POST /webhooks/endpoints/[id]/disable': endpoint({
    method: 'POST',
    operationId: 'disableEndpoint',
    effect: 'none',
    summary: 'Disable an endpoint',
    description: 'Its deliveries wait, and are not sent until it is enabled.',
    allow: 'webhooks:write',
    proof: {
      notRequired: 'It sends no data anywhere; the deliveries wait until the endpoint is enabled.',
    },
    body: noFields,
    response: EndpointRead,
    errorCodes: ['endpoint_not_found'],
    idempotency: { retentionS: 86_400 },
    async handle(call) {
      const { account, mode } = call
      const { id = '' } = call.params
      await pauseEndpoint(webhookOwner(call), id)
      return { data: await readEndpoint(account.id, mode, id) }
    },
  }),
  'POST /webhooks/endpoints/[id]/enable': endpoint({
    method: 'POST',
    operationId: 'enableEndpoint',
    effect: 'none',
    summary: 'Enable an endpoint',
    description:
      'Sends the events missed since the endpoint began to fail, oldest first, unless `send_missed` is false.',
    allow: 'webhooks:write',
    proof: { notRequired: 'It sends events to the stored URL only; a new URL requires a proof.' },
    body: enableRequest,
    response: EndpointEnabled,
    errorCodes: ['endpoint_not_found'],
    idempotency: { retentionS: 86_400 },
    async handle(call) {
      const { account, mode, body } = call
      const { id = '' } = call.params
      const missed = await enableEndpoint(webhookOwner(call), id, body.send_missed)
      return { data: await readEndpoint(account.id, mode, id), missed }
    },
  }),
  'POST /webhooks/endpoints/[id]/rotate': endpoint({
    method: 'POST',
    operationId: 'rotateEndpointSecret',
    effect: 'none',
    summary: 'Rotate the secret of an endpoint',
    description:
      'Returns a new secret, which can be read nowhere else later. For 24 hours the previous one signs, too, so that no webhook is lost. At most 10 secrets sign at the same time. Repeated with the same `Idempotency-Key` and token, the request returns the same secret; with another token it is refused.',
    allow: 'webhooks:write',
    proof: 'required',
    body: noFields,
    response: SecretShown,
    errorCodes: ['endpoint_not_found'],
    errorExamples: [tooManySecrets()],
    // A retry reads the encrypted secret from its row; the idempotency key stores no secret.
    idempotency: {
      retentionS: 86_400,
      showsSecret: true,
      rebuild: async ({ accountId, mode }, id) => ({
        data: await readCreatedSecret(accountId, mode, id),
      }),
    },
    async handle(call) {
      const { id = '' } = call.params
      return { data: await rotateSecret(webhookOwner(call), id, call.once) }
    },
  }),
  'POST /webhooks/endpoints/[id]/test': endpoint({
    method: 'POST',
    operationId: 'testEndpoint',
    effect: 'none',
    summary: 'Send a test event',
    description:
      'Sends a sample event at once and once only, signed with the secret of the endpoint, and returns what the receiver responded. Its `sequence` is 0, and it is stored nowhere. A disabled endpoint receives it, too. It counts toward the 4 concurrent calls per URL and 16 per host: without a place within 2 s, the response is 429. With a test token, the type can be any, and the body says `mode: "test"`. With a live token, it is `troco.ping`, which contains no charge or withdrawal. In test mode, `check` tries what a receiver must refuse and accept.',
    allow: 'webhooks:write',
    proof: { notRequired: 'It sends sample data only, to the stored URL.' },
    body: testRequest,
    response: TestRead,
    errorCodes: ['endpoint_not_found'],
    idempotency: { retentionS: 86_400 },
    async handle({ account, mode, body, params: { id = '' } }) {
      const samples = { sampleOf, apiPix: serializePixNotice }
      return { data: await sendTestEvent(account.id, mode, id, body, samples) }
    },
  }),
})
