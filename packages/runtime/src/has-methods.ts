/** Whether a value has all these methods, its own or of its class. */
export function hasMethods(value: unknown, names: readonly string[]): boolean {
  return names.every(
    (name) => typeof (value as Record<string, unknown> | null | undefined)?.[name] === 'function'
  )
}
