import type { RunInput } from '../contract/content-part.ts'
import type { Runnable } from '../contract/runnable.ts'
import { contentTypeOf } from '../files/content-type.ts'
import { badInput } from './require-input.ts'

interface GivenFile {
  readonly mimeType?: unknown
  readonly data?: unknown
}

/**
 * Gives the files of a message types that say what they are, since models take no others. The input is not changed.
 * @throws RUN_ERR_BAD_INPUT for a file whose type cannot be recognized
 */
export function withContentTypes({ inputSchema }: Pick<Runnable, 'inputSchema'>, input: RunInput): RunInput {
  if (!Array.isArray(input) || inputSchema !== undefined) return input
  let typed: unknown[] | undefined
  for (const [index, part] of input.entries()) {
    const { data, mimeType = '' } = (part ?? {}) as GivenFile
    // What is wrong with its other fields is reported with those of the whole input.
    if (typeof data !== 'string' || data === '' || typeof mimeType !== 'string') continue
    const found = contentTypeOf(mimeType, data)
    if (found === undefined) {
      const given =
        mimeType === '' ? 'is not given' : `"${mimeType.slice(0, 64)}" does not say what the file is`
      const message = `${given}, and neither does its content: give the media type, such as application/pdf`
      throw badInput([{ path: `input/${index}/mimeType`, message }])
    }
    if (found === mimeType) continue
    typed ??= [...(input as unknown[])]
    const type = /^(image|audio)\//.exec(found)?.[1] ?? 'file'
    typed[index] = { ...(part as object), type, mimeType: found }
  }
  return typed ?? input
}
