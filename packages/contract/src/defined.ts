type Optional<Fields> = {
  [Name in keyof Fields]-?: undefined extends Fields[Name] ? Name : never
}[keyof Fields]

/** Fields of which those that may be undefined are optional instead. */
export type Defined<Fields extends object> = Omit<Fields, Optional<Fields>> & {
  [Name in Optional<Fields>]?: Exclude<Fields[Name], undefined>
}

/** Copies an object without the fields that are undefined, so that they are absent and take no default's place. */
export function defined<Fields extends object>(fields: Fields): Defined<Fields> {
  const result: Partial<Fields> = {}
  for (const name of Object.keys(fields) as (keyof Fields)[])
    if (fields[name] !== undefined) result[name] = fields[name]
  return result as Defined<Fields>
}
