/** Set by the front, overwriting what a client sends, except a well-formed request id. */
export const ADDRESS_HEADER = 'x-troco-address'
export const REQUEST_ID_HEADER = 'x-request-id'

/** Path of the request, set by the front because Next does not pass it to pages. */
export const PATH_HEADER = 'x-troco-path'
