const FLAGS = new Set(['includeArtifacts', 'include_artifacts'])

/** The fields of a query, flags as such; what cannot be one stays text, to be refused. */
export function readQuery(query: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const fields: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(query))
    fields[name] = FLAGS.has(name) && (value === 'true' || value === 'false') ? value === 'true' : value
  return fields
}
