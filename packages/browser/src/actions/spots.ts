import { Type, type TProperties } from '@sinclair/typebox'
import type { See } from '../browser-options.ts'
import type { Spot } from '../desk-action.ts'
import type { Args } from './action.ts'

const ref = Type.String({ pattern: '^[A-Za-z0-9]{1,32}$', description: 'The ref of the element, e.g. `e12`' })
const x = Type.Number({ minimum: 0, description: 'Pixels from the left edge of the screenshot' })
const y = Type.Number({ minimum: 0, description: 'Pixels from its top edge' })

/** The fields that name an element. */
export function spotFields(see: See): TProperties {
  return see === 'pixels' ? { x, y } : { ref }
}

/** The same, where no element is needed. */
export function optionalSpotFields(see: See): TProperties {
  return see === 'pixels' ? { x: Type.Optional(x), y: Type.Optional(y) } : { ref: Type.Optional(ref) }
}

/** The fields that name two elements. */
export function pairFields(see: See): TProperties {
  return see === 'pixels' ? { x, y, toX: x, toY: y } : { ref, toRef: ref }
}

/** The element that arguments name; undefined if they name none. */
export function toSpot({ ref: named, x: left, y: top }: Args): Spot | undefined {
  if (typeof named === 'string') return { ref: named }
  return typeof left === 'number' && typeof top === 'number' ? { x: left, y: top } : undefined
}

/** The second element that arguments name. */
export function toSecondSpot({ toRef, toX, toY }: Args): Spot {
  return toSpot({ ref: toRef, x: toX, y: toY })!
}
