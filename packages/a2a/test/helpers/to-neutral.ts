/**
 * Converts answers of every version and binding to one form: states and roles in lower case, parts by their content, without
 * wrappers and `kind`, with uniform ids and times.
 */
export function toNeutral(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toNeutral)
  if (typeof value === 'string') return toNeutralText(value)
  if (typeof value !== 'object' || value === null) return value
  const { kind: _kind, final: _final, content, name, ...rest } = value as Record<string, unknown>
  const fields: Record<string, unknown> = {
    ...rest,
    ...(content !== undefined && { parts: content }),
    ...(name !== undefined && !(typeof name === 'string' && name.startsWith('tasks/')) && { name })
  }
  if (isWrapped(fields, 'data') && isWrapped(fields['data'] as object, 'data'))
    return toNeutral(fields['data'])
  const [only, more] = Object.keys(fields)
  if (more === undefined && WRAPPERS.has(only ?? '')) return toNeutral(fields[only!])
  if (isObject(fields['pushNotificationConfig'])) {
    const { pushNotificationConfig, taskId: _taskId, ...others } = fields
    return toNeutral({ ...others, ...(pushNotificationConfig as object) })
  }
  if ('url' in fields && 'taskId' in fields) delete fields['taskId']
  if (isObject(fields['authentication'])) {
    const { scheme, schemes, ...auth } = fields['authentication'] as Record<string, unknown>
    fields['authentication'] = { ...auth, schemes: schemes ?? [scheme] }
  }
  return Object.fromEntries(
    Object.entries(fields)
      .map(([key, each]) => [key, toNeutral(each)] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1))
  )
}

const WRAPPERS = new Set(['task', 'message', 'statusUpdate', 'artifactUpdate'])
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
const RUN_ID = /\b[0-9a-z]{7}[0-9A-Za-z]{24}\b/g

function toNeutralText(text: string): string {
  const [, state] = /^(?:TASK_STATE|ROLE)_(\w+)$/.exec(text) ?? []
  if (state !== undefined) return state.toLowerCase().replaceAll('_', '-').replace('cancelled', 'canceled')
  return text
    .replaceAll(UUID, 'ID')
    .replaceAll(RUN_ID, 'ID')
    .replace(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/, 'TIME')
    .replace(/^\d{13}\.ID$/, 'TOKEN')
}

function isWrapped(value: object, key: string): boolean {
  return (
    isObject(value) && Object.keys(value).length === 1 && isObject((value as Record<string, unknown>)[key])
  )
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
