import { useRouter } from 'next/navigation'
import { useState } from 'react'
import { useApi } from '#components/form/api.ts'
import { refusedFieldOf, type useReview } from '#components/form/review.tsx'
import type { ChargeRequest } from '#lib/charges/schema.ts'
import { needsReview } from '#lib/charges/states.ts'
import { ApiError } from '#lib/core/call-api.ts'

interface CreateResponse {
  data: { transaction_id: string }
}

interface Options {
  /** Amount above which the member reviews the charge; null: none. */
  reviewAbove: number | null
  review: ReturnType<typeof useReview<ChargeRequest>>
  readDescription: () => string
}

/** Returns a function that creates a charge, after a review if it needs one, and opens its page. */
export function useCreateCharge({ reviewAbove, review: state, readDescription }: Options) {
  const api = useApi()
  const router = useRouter()
  const [isCreated, setCreated] = useState(false)
  const { reviewed, review, returnToField } = state

  async function create(body: ChargeRequest, idempotencyKey: string) {
    if (!reviewed && needsReview(body.amount, reviewAbove)) return review(body)
    try {
      const { data } = await api.send<CreateResponse>('POST', '/transactions', {
        body,
        idempotencyKey,
        ...(reviewed ? { reviewedAmount: reviewed.amount } : {}),
      })
      setCreated(true)
      const unsaved = await describe(data.transaction_id)
      router.push(`/${api.scope.mode}/charges/${data.transaction_id}${unsaved}`)
    } catch (error) {
      // The threshold was lowered after this page was opened.
      if (error instanceof ApiError && error.code === 'review_required') return review(body)
      const field = refusedFieldOf(error)
      if (reviewed && field) returnToField(field)
      throw error
    }
  }

  /** Returns the query by which the charge's page asks for a text that could not be saved. */
  async function describe(id: string): Promise<string> {
    const description = readDescription()
    if (!description) return ''
    const path = `/dashboard/charges/${id}/description`
    return api.send('POST', path, { body: { description } }).then(
      () => '',
      () => `?${new URLSearchParams({ description })}`,
    )
  }
  return { create, isCreated }
}
