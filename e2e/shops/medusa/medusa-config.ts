import { defineConfig } from '@medusajs/framework/utils'

const { DATABASE_URL, TROCO_URL, TROCO_TOKEN, TROCO_WEBHOOK_SECRET } = process.env

export default defineConfig({
  admin: { disable: true },
  projectConfig: {
    databaseUrl: DATABASE_URL,
    http: {
      storeCors: '',
      adminCors: '',
      authCors: '',
      jwtSecret: 'one secret of the shop',
      cookieSecret: 'another secret of the shop',
    },
  },
  modules: [
    {
      resolve: '@medusajs/medusa/payment',
      options: {
        // Milliseconds between a webhook and its effect; Medusa's default is 5 s.
        webhook_delay: 500,
        providers: [
          {
            resolve: './src/modules/troco/medusa',
            id: 'pix',
            options: { url: TROCO_URL, token: TROCO_TOKEN, webhookSecret: TROCO_WEBHOOK_SECRET },
          },
        ],
      },
    },
  ],
})
