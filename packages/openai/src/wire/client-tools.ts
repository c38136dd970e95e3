import type { ClientTool } from '@svc/registry'
import { OPENAI_ERR_BAD_REQUEST, OPENAI_ERR_UNSUPPORTED } from '../errors.ts'

/** A function of a client, of Responses or of Chat Completions. */
interface GivenFunction {
  readonly name?: string | undefined
  readonly description?: string | null | undefined
  readonly parameters?: Readonly<Record<string, unknown>> | null | undefined
}

const NO_ARGUMENTS = { type: 'object', properties: {} }

/**
 * The tools of a client for a run; undefined if there are none.
 * @throws OPENAI_ERR_BAD_REQUEST, OPENAI_ERR_UNSUPPORTED
 */
export function toClientTools(
  tools: readonly (GivenFunction & { readonly type: string })[] | null | undefined,
  choice: unknown
): ClientTool[] | undefined {
  if (choice !== undefined && choice !== null && choice !== 'auto' && choice !== 'none')
    throw new OPENAI_ERR_UNSUPPORTED('tool_choice other than "auto" and "none"')
  if (!tools?.length || choice === 'none') return undefined
  return tools.map(({ type, name, description, parameters }, index) => {
    if (type !== 'function') throw new OPENAI_ERR_UNSUPPORTED(`tools of the type ${JSON.stringify(type)}`)
    if (name === undefined) throw new OPENAI_ERR_BAD_REQUEST(`tools[${index}] must have a name`)
    // A tool without a schema takes no arguments.
    return {
      name,
      description: description ?? '',
      input: { type: 'object', ...(parameters ?? NO_ARGUMENTS) }
    }
  })
}
