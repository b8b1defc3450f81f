export function prepare(options: { pages: boolean; tests?: boolean }): Promise<void>
