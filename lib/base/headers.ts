/** By these the front tells the inside what it knows; what a caller sends under them is dropped. */
export const ADDRESS_HEADER = 'x-troco-address'
export const REQUEST_ID_HEADER = 'x-request-id'

/** Where the front tells a page its own address, which Next keeps from it. */
export const PATH_HEADER = 'x-troco-path'
