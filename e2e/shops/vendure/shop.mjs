/** Lies beside the plugin. Starts a Vendure shop with one product and Pix by Troco, in memory. Argument: settings as JSON. Prints a line when it serves. */
import {
  bootstrap,
  DefaultLogger,
  defaultPaymentProcess,
  defaultRefundProcess,
  LogLevel,
  manualFulfillmentHandler,
} from '@vendure/core'
import { populate } from '@vendure/core/cli/index.js'
import { createTrocoPayments } from './vendure.mjs'

const { port, products, ...settings } = JSON.parse(process.argv[2])
const pix = createTrocoPayments(settings)

/** Refuses the first settlement of a payment of three products. */
const refused = new Set()
const refusing = {
  transitions: {},
  onTransitionStart(_from, to, { payment: { id, amount } }) {
    if (to !== 'Settled' || amount !== 3 * 4_990 || refused.has(id)) return
    refused.add(id)
    return 'refused once'
  },
}

const config = {
  apiOptions: {
    port,
    hostname: '127.0.0.1',
    adminApiPath: 'admin-api',
    shopApiPath: 'shop-api',
    middleware: [pix.middleware],
  },
  authOptions: { tokenMethod: ['bearer'] },
  dbConnectionOptions: { type: 'sqljs', synchronize: true },
  paymentOptions: {
    paymentMethodHandlers: [pix.handler],
    process: [defaultPaymentProcess, pix.process, refusing],
    refundProcess: [defaultRefundProcess, pix.refundProcess],
  },
  shippingOptions: { fulfillmentHandlers: [manualFulfillmentHandler] },
  logger: new DefaultLogger({ level: LogLevel.Error }),
  plugins: [],
}

const initialData = {
  defaultLanguage: 'pt_BR',
  defaultZone: 'Brasil',
  countries: [{ code: 'BR', name: 'Brasil', zone: 'Brasil' }],
  taxRates: [{ name: 'standard', percentage: 0 }],
  shippingMethods: [{ name: 'Retirada', price: 0 }],
  paymentMethods: [{ name: 'Pix', handler: { code: pix.handler.code, arguments: [] } }],
  collections: [],
  roles: [],
}

await populate(() => bootstrap(config), initialData, products)
process.stdout.write('serving\n')
