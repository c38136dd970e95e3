import { Type } from '@sinclair/typebox'
import { PART_SCHEMAS, type NumberedPart, type PartType } from '@svc/registry'

const seq = Type.Integer({ minimum: 1, description: 'Counts from 1 in each run; the id of the message' })

/** A part as it stands on the wire: told apart by `type`, numbered by `seq`. */
export const EventPartSchema = Type.Unsafe<NumberedPart>({
  title: 'Part',
  description: 'One item of the log of a run',
  discriminator: { propertyName: 'type' },
  oneOf: Object.entries(PART_SCHEMAS).map(([type, schema]) =>
    Type.Composite([Type.Object({ seq }), schema], { title: titleOf(type as PartType) })
  )
})

function titleOf(type: PartType): string {
  const words = [...type.split('.'), 'part']
  return words.map((word) => word[0]?.toUpperCase() + word.slice(1)).join('')
}
