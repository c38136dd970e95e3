const INTEGERS = new Set(['historyLength', 'history_length', 'pageSize', 'page_size'])
const FLAGS = new Set(['includeArtifacts', 'include_artifacts'])

/** The fields of a query, those that are numbers and flags as such; what cannot be one stays text, to be refused. */
export function readQuery(query: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const fields: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(query)) {
    if (INTEGERS.has(name) && typeof value === 'string' && /^-?\d{1,15}$/.test(value))
      fields[name] = Number(value)
    else if (FLAGS.has(name) && (value === 'true' || value === 'false')) fields[name] = value === 'true'
    else fields[name] = value
  }
  return fields
}
