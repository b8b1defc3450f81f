export function prepare(options: { pages: boolean }): Promise<void>
