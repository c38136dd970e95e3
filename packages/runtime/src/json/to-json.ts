/**
 * Serializes a value. @throws the error of `fail` for a cycle, a BigInt, a function, a getter that throws, and for a Map or a
 * Set, whose entries JSON would drop; `cause` is the error of the serializer
 */
export function toJson(value: unknown, fail: (fault: string, cause?: unknown) => Error): string {
  if (isCollection(value, fail)) throw fail('it is a Map or a Set; return an object or an array')
  let json: string | undefined
  try {
    json = JSON.stringify(value) as string | undefined
  } catch (err) {
    throw fail('it cannot be serialized as JSON', err)
  }
  if (json === undefined) throw fail(`it is a ${typeof value}`)
  return json
}

function isCollection(value: unknown, fail: (fault: string, cause?: unknown) => Error): boolean {
  try {
    return value instanceof Map || value instanceof Set
  } catch (err) {
    throw fail('it cannot be serialized as JSON', err)
  }
}
