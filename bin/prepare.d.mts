export function prepare(options: { pages: boolean; tests?: boolean }): Promise<void>
export function compressBuild(folder: string): Promise<void>
