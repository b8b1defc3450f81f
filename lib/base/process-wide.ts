/**
 * Returns the value that this process has under a name, made at its first use. A variable of a
 * module would exist twice in a server, because Next bundles its own copy of the module.
 */
export function processWide<T extends object>(name: string, make: () => T): T {
  const key = Symbol.for(`troco.${name}`)
  const values = globalThis as typeof globalThis & { [key: symbol]: T | undefined }
  values[key] ??= make()
  return values[key]
}
