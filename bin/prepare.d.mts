export function prepare(wants: { pages: boolean }): Promise<void>
