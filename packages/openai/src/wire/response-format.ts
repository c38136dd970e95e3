import type { Runnable } from '@svc/contract'
import { OPENAI_ERR_BAD_REQUEST, OPENAI_ERR_UNSUPPORTED } from '../errors.ts'

const MAX_TEXTS = 4
const MAX_LENGTH = 256

/** A format of the answer: of Responses, or with the schema a level below of Chat Completions. */
export interface GivenFormat {
  readonly type: string
  readonly schema?: unknown
  readonly json_schema?: { readonly schema?: unknown }
}

/**
 * Instructions for an answer in a format. A runnable with an output of its own keeps to its schema, and needs none.
 * @throws OPENAI_ERR_UNSUPPORTED if the runnable has no output of its own and takes no instructions
 */
export function toFormatInstructions(
  format: GivenFormat | null | undefined,
  runnable: Runnable,
  { clientInstructions }: { readonly clientInstructions: boolean }
): string | undefined {
  if (!format || format.type === 'text' || runnable.describe().output !== undefined) return undefined
  if (format.type !== 'json_schema' && format.type !== 'json_object')
    throw new OPENAI_ERR_UNSUPPORTED(`the format ${JSON.stringify(format.type)}`)
  if (!clientInstructions || runnable.kind === 'workflow')
    throw new OPENAI_ERR_UNSUPPORTED('a format of the answer, for a model without structured output')
  const schema = format.schema ?? format.json_schema?.schema
  const fits = schema === undefined ? '' : ` that fits this JSON Schema: ${JSON.stringify(schema)}`
  return `Answer with a JSON value only, without any other text,${fits || ' an object'}.`
}

/** The texts that end an answer; undefined if there are none. @throws OPENAI_ERR_BAD_REQUEST */
export function toStopTexts(stop: string | readonly string[] | null | undefined): string[] | undefined {
  const texts = [...new Set(typeof stop === 'string' ? [stop] : (stop ?? []))].filter((text) => text !== '')
  if (texts.length === 0) return undefined
  const fault =
    texts.length > MAX_TEXTS
      ? `must have at most ${MAX_TEXTS} texts`
      : texts.some(({ length }) => length > MAX_LENGTH)
        ? `must have texts of at most ${MAX_LENGTH} characters`
        : undefined
  if (fault === undefined) return texts
  const errors = [{ path: 'stop', message: fault }]
  throw Object.assign(new OPENAI_ERR_BAD_REQUEST(`stop ${fault}`), { errors })
}
