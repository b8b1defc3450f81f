interface PageState {
  state: { data?: { data: { status: string }[] } | undefined }
}

/** Refetches a page of a list while a row of it is pending. */
export function whilePending(intervalMs: number) {
  return ({ state }: PageState) =>
    state.data?.data.some(({ status }) => status === 'pending') ? intervalMs : false
}
