export function compressBuild(folder: string): Promise<void>
