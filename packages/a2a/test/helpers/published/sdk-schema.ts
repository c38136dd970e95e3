import { resolve } from 'node:path'
import { createGenerator } from 'ts-json-schema-generator'
import type { V02, V03 } from './sdk-types.ts'

/** The names that the published schemas of 0.x give to what is asked and answered. */
export interface SdkTypes {
  '0.2': keyof V02
  '0.3': keyof V03
}

/**
 * The JSON schema of what is asked and answered in a version, out of the types that its official SDK has generated from the
 * published one. `isOpen` is as that one is: objects may have what it does not name.
 */
export function createSdkSchema(version: keyof SdkTypes, isOpen: boolean) {
  const { properties } = createGenerator({
    path: resolve(import.meta.dirname, 'sdk-types.ts'),
    tsconfig: resolve(import.meta.dirname, '../../../../../tsconfig.base.json'),
    skipTypeCheck: true,
    additionalProperties: isOpen,
    jsDoc: 'none',
    topRef: false
  }).createSchema(version === '0.2' ? 'V02' : 'V03')
  return { $id: isOpen ? `open-${version}` : version, $defs: properties }
}
