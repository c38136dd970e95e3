import { setTimeout as wait } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import { defineTool } from '@svc/runtime'

/** Milliseconds of a delivery: long enough to kill the demo meanwhile. */
const DURATION = 1_000

/** Delivers a parcel. It may be called again with the same `idempotencyKey`, if the service ended meanwhile. */
export const deliver = defineTool({
  name: 'deliver',
  description: 'Delivers one parcel, which takes a second.',
  inputSchema: Type.Object(
    { parcel: Type.Integer({ minimum: 1, maximum: 100 }) },
    { additionalProperties: false }
  ),
  idempotent: true,
  async execute({ parcel }, { signal }) {
    await wait(DURATION, undefined, { signal })
    return { parcel, deliveredAt: new Date().toISOString() }
  }
})
