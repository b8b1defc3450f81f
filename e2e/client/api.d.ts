/** Placeholder for the types that the test generates from the OpenAPI document. */

// biome-ignore lint/suspicious/noExplicitAny: the test generates the exact type
export type paths = any
// biome-ignore lint/suspicious/noExplicitAny: the test generates the exact type
export type components = any
