/**
 * Returns the object that all copies of a module in this process share, made by the first. A variable
 * of the module would exist twice in a server, because Next bundles a copy of its own.
 */
export function processWide<T extends object>(name: string, make: () => T): T {
  const key = Symbol.for(`troco.${name}`)
  const values = globalThis as typeof globalThis & { [key: symbol]: T | undefined }
  values[key] ??= make()
  return values[key]
}
