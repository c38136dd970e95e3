import { Type } from '@sinclair/typebox'
import type { DeskAction } from '../desk-action.ts'
import type { Action, Args } from './action.ts'
import { optionalSpotFields, pairFields, spotFields, toSecondSpot, toSpot } from './spots.ts'

const strict = { additionalProperties: false }

// The schema has checked the arguments.
function withSpot(action: DeskAction['action'], args: Args): DeskAction {
  const { ref: _ref, x: _x, y: _y, ...rest } = args
  const at = toSpot(args)
  return { action, ...rest, ...(at && { at }) } as DeskAction
}

/** Actions on elements of a page. */
export const ELEMENT_ACTIONS: readonly Action[] = [
  {
    name: 'click',
    description: 'Clicks an element.',
    input: (see) =>
      Type.Object(
        {
          ...spotFields(see),
          button: Type.Optional(Type.Union(['left', 'middle', 'right'].map((each) => Type.Literal(each)))),
          count: Type.Optional(Type.Integer({ minimum: 1, maximum: 3, description: '2 for a double click' }))
        },
        strict
      ),
    toDesk: (args) => withSpot('click', args)
  },
  {
    name: 'type',
    description:
      'Types a text into a field, instead of what it has; by default into the field with the focus.',
    input: (see) =>
      Type.Object(
        {
          ...optionalSpotFields(see),
          text: Type.String({ maxLength: 1_000_000 }),
          append: Type.Optional(Type.Boolean({ description: 'Keeps what the field has' })),
          submit: Type.Optional(Type.Boolean({ description: 'Presses Enter afterwards' }))
        },
        strict
      ),
    toDesk: (args) => withSpot('type', args)
  },
  {
    name: 'press',
    description: 'Presses a key, such as `Enter`, `Escape`, `ArrowDown` or `Control+A`.',
    input: (see) =>
      Type.Object({ key: Type.String({ minLength: 1, maxLength: 64 }), ...optionalSpotFields(see) }, strict),
    toDesk: (args) => withSpot('press', args)
  },
  {
    name: 'select',
    description: 'Selects options of a list, by their labels or values.',
    input: (see) =>
      Type.Object(
        { ...spotFields(see), values: Type.Array(Type.String({ maxLength: 1_000 }), { maxItems: 100 }) },
        strict
      ),
    toDesk: (args) => withSpot('select', args)
  },
  {
    name: 'check',
    description: 'Checks or unchecks a box, or chooses a radio button.',
    input: (see) => Type.Object({ ...spotFields(see), checked: Type.Boolean() }, strict),
    toDesk: (args) => withSpot('check', args)
  },
  {
    name: 'hover',
    description: 'Moves the mouse over an element.',
    input: (see) => Type.Object(spotFields(see), strict),
    toDesk: (args) => withSpot('hover', args)
  },
  {
    name: 'drag',
    description: 'Drags an element onto another.',
    input: (see) => Type.Object(pairFields(see), strict),
    toDesk: (args) => ({ action: 'drag', from: toSpot(args)!, to: toSecondSpot(args) })
  }
]
