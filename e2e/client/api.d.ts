/** Stands in for what the test makes from the document, where nothing has made it yet. */

// biome-ignore lint/suspicious/noExplicitAny: the real one is told exactly, in the test
export type paths = any
// biome-ignore lint/suspicious/noExplicitAny: the real one is told exactly, in the test
export type components = any
