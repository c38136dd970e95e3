import { Type } from '@sinclair/typebox'
import { RUN_ERR_BROWSER_ACTION_FAILED } from '../errors.ts'
import type { ToolContext } from '@svc/runtime'
import type { UploadedFile } from '../desk-action.ts'
import type { Action } from './action.ts'
import { spotFields, toSpot } from './spots.ts'

const strict = { additionalProperties: false }

/** Actions with files: those of the user's messages go to pages, those of pages to the run. */
export const FILE_ACTIONS: readonly Action[] = [
  {
    name: 'upload',
    description: "Gives files of the user's messages to a file field, by their names.",
    input: (see) =>
      Type.Object(
        {
          ...spotFields(see),
          files: Type.Array(Type.String({ maxLength: 1_024 }), { minItems: 1, maxItems: 20 })
        },
        strict
      ),
    toDesk: (args, { call }) => ({
      action: 'upload',
      at: toSpot(args)!,
      files: pickFiles(args['files'] as string[], call)
    })
  },
  {
    name: 'download',
    description: 'Clicks a link or button that offers a file, and keeps the file with the run.',
    input: (see) => Type.Object(spotFields(see), strict),
    toDesk: (args) => ({ action: 'click', at: toSpot(args)! }),
    async perform(args, { desk, call }) {
      const acted = await desk.act({ action: 'click', at: toSpot(args)! }, call.signal)
      const [fault = 'the page offered no file'] = acted.notices
      if (acted.downloads.length === 0) throw new RUN_ERR_BROWSER_ACTION_FAILED(fault)
      return { said: 'Downloaded.', acted }
    }
  }
]

function pickFiles(names: readonly string[], call: ToolContext): UploadedFile[] {
  const files = filesOf(call)
  return names.map((name) => {
    const file = files.find((each) => each.name === name)
    if (file !== undefined) return file
    const known =
      files.length === 0 ? 'there are none' : `there are ${files.map((each) => each.name).join(', ')}`
    throw new RUN_ERR_BROWSER_ACTION_FAILED(`the user sent no file ${JSON.stringify(name)}; ${known}`)
  })
}

/** The files of the user's messages that are at hand as bytes. */
function filesOf({ messages }: ToolContext): UploadedFile[] {
  const parts = messages.flatMap((message) => (message.role === 'user' ? message.content : []))
  return parts.flatMap((part, index) => {
    if (part.type !== 'file' || part.data.type !== 'data') return []
    const { data } = part.data
    const bytes = typeof data === 'string' ? Buffer.from(data, 'base64') : data
    return [{ name: part.filename ?? `file-${index + 1}`, mimeType: part.mediaType, data: bytes }]
  })
}
