import { Type } from '@sinclair/typebox'
import { RUN_ERR_BROWSER_ACTION_FAILED } from '../errors.ts'
import type { Action } from './action.ts'
import { toSpot } from './spots.ts'

const strict = { additionalProperties: false }
const READ_CHARS = 60_000
const SEARCHED_CHARS = 2_000_000
const MAX_LINES = 50
const MAX_LINE = 400

/** Actions that read a page. */
export const READING_ACTIONS: readonly Action[] = [
  {
    name: 'read',
    description: 'Reads the page again, or only an element, with more of its text than other results show.',
    isReadOnly: true,
    input: (see) =>
      Type.Object(
        see === 'pixels'
          ? {}
          : {
              ref: Type.Optional(
                Type.String({ pattern: '^[A-Za-z0-9]{1,32}$', description: 'Only this element' })
              )
            },
        strict
      ),
    async perform(args, { desk }) {
      const spot = toSpot(args)
      const within = spot !== undefined && 'ref' in spot ? { within: spot.ref } : {}
      const { text, omitted } = await desk.look({ ...within, maxChars: READ_CHARS })
      const rest = omitted > 0 ? ` ${omitted} lines are left out: read an element, or find a text.` : ''
      return { said: `Read.${rest}`, excerpt: text }
    }
  },
  {
    name: 'find',
    description: 'Finds the lines of the page that have a text, in upper or lower case, with their refs.',
    isReadOnly: true,
    input: () => Type.Object({ text: Type.String({ minLength: 1, maxLength: 1_000 }) }, strict),
    async perform({ text: wanted }, { desk }) {
      const { text } = await desk.look({ maxChars: SEARCHED_CHARS })
      const lower = (wanted as string).toLowerCase()
      const lines = text.split('\n').filter((line) => line.toLowerCase().includes(lower))
      const shown = lines.slice(0, MAX_LINES).map((line) => line.trim().slice(0, MAX_LINE))
      const found = lines.length === 1 ? '1 line has' : `${lines.length} lines have`
      const said = `${found} the text${lines.length > MAX_LINES ? `; the first ${MAX_LINES}` : ''}.`
      return { said, excerpt: shown.join('\n') }
    }
  },
  {
    name: 'screenshot',
    description: 'Keeps a screenshot of what is visible as a file of the run.',
    isReadOnly: true,
    input: () => Type.Object({}, strict),
    async perform(_, { desk, visit, call }) {
      const screenshot = await desk.screenshot(visit.plan.see === 'both')
      const { data, mimeType } = screenshot
      const shows = visit.plan.see !== 'tree'
      // One that the model sees is kept with its result.
      if (shows) return { said: 'A screenshot:', excerpt: '', screenshot }
      const { fileId } = await call.keepFile({
        data,
        mimeType,
        filename: visit.screenshotName(call.stepNumber),
        purpose: 'screenshot'
      })
      if (fileId === undefined) throw new RUN_ERR_BROWSER_ACTION_FAILED('the screenshot could not be kept')
      return { said: `Kept as file ${fileId}.`, excerpt: '' }
    }
  }
]
