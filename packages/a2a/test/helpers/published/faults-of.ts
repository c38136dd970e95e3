import { Ajv2020 } from 'ajv/dist/2020.js'
import { PROTO_SCHEMA } from './proto-schema.ts'
import { createSdkSchema, type SdkTypes } from './sdk-schema.ts'

/** The types that the published schema of each version has. */
export interface PublishedTypes extends SdkTypes {
  '1.0': keyof (typeof PROTO_SCHEMA)['$defs']
}

const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true, schemas: [PROTO_SCHEMA] })

/** Where a value is not what the published schema of a version says of a type, and what is wrong there. */
export function faultsOf<V extends keyof PublishedTypes>(
  version: V,
  type: PublishedTypes[V],
  value: unknown,
  { isOpen = false } = {}
): string[] {
  const id = isOpen ? `open-${version}` : version
  if (version !== '1.0' && ajv.getSchema(id) === undefined) ajv.addSchema(createSdkSchema(version, isOpen))
  ajv.validate(`${id}#/$defs/${type}`, value)
  return (ajv.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`
  )
}
