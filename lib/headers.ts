/** By these the front tells the inside what it knows; what a caller sends under them is dropped. */
export const ADDRESS_HEADER = 'x-troco-address'
export const REQUEST_ID_HEADER = 'x-request-id'
